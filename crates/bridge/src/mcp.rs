//! An MCP server, independent of its transport.
//!
//! A [`Session`] handles the messages of one client; [`serve`] runs it over two streams. The content comes from an
//! [`McpCatalog`]; [`Toolbox`] is Foreword's catalog, based on a [`Source`].

mod address;
mod session;
mod stdio;
mod toolbox;

use serde::Serialize;
use serde_json::Value;

pub use address::{Address, DocumentAddress};
pub use session::{INVALID_REQUEST, PARSE_ERROR, Session, VERSIONS, failure};
pub use stdio::serve;
pub use toolbox::{CompareAsked, PlaceAsked, SaveAsked, Saving, Source, Toolbox};

/// Tools and resources of a server.
pub trait McpCatalog: Sync {
    fn tools(&self) -> Vec<Tool>;
    /// Runs a tool for the client named `client`. A refusal is shown to the model, which may try again.
    fn call(&self, client: &str, tool: &str, arguments: &Value) -> Result<ToolAnswer, Refusal>;
    fn resources(&self) -> Vec<Resource>;
    /// Templates for addresses that are not listed.
    fn templates(&self) -> Vec<Resource>;
    /// Returns the text of a resource.
    fn read(&self, uri: &str) -> Result<String, Refusal>;
}

#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Tool {
    pub name: &'static str,
    pub description: &'static str,
    pub input_schema: Value,
    /// Hints for clients that ask for confirmation.
    pub annotations: Value,
}

/// Result of a tool, as text for the model and as data for programs.
#[derive(Debug, Clone)]
pub struct ToolAnswer {
    pub text: String,
    pub data: Option<Value>,
}

/// Rejected call, as text for the model and as data for programs.
#[derive(Debug, Clone)]
pub struct Refusal {
    /// The problem and its remedy.
    pub message: String,
    pub data: Option<Value>,
}

impl Refusal {
    /// Returns a refusal without data.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), data: None }
    }
}

impl From<String> for Refusal {
    fn from(message: String) -> Self {
        Self::new(message)
    }
}

/// A resource, or a template for addresses.
#[derive(Debug, Clone)]
pub struct Resource {
    pub uri: String,
    pub name: String,
    pub description: &'static str,
}
