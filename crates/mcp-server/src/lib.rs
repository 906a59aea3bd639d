//! An MCP server: rmcp's, with our tools and resources.
//!
//! A [`Server`] answers one client from an [`McpCatalog`]; [`serve`] runs it over two streams, and the gateway over HTTP.
//! [`Toolbox`] is Foreword's catalog, based on a [`Source`].

mod address;
mod lines;
mod message;
mod server;
mod session;
mod toolbox;

use rmcp::model::{Resource, ResourceTemplate, Tool};
use serde_json::Value;

pub use address::{Address, DocumentAddress};
pub use lines::serve;
pub use message::{INVALID_REQUEST, PARSE_ERROR, Received, Sent, failure};
pub use server::{Server, ServerSettings};
pub use session::Session;
pub use toolbox::{CompareAsked, PlaceAsked, SaveAsked, Saving, Source, Toolbox, WhyAsked};

/// Tools and resources of a server. Its functions may block.
pub trait McpCatalog: Send + Sync + 'static {
    fn tools(&self) -> Vec<Tool>;
    /// Runs a tool for the client named `client`. A refusal is shown to the model, which may try again.
    fn call(&self, client: &str, tool: &str, arguments: &Value) -> Result<ToolAnswer, Refusal>;
    fn resources(&self) -> Vec<Resource>;
    /// Returns templates for addresses that are not listed.
    fn templates(&self) -> Vec<ResourceTemplate>;
    /// Returns the text of a resource.
    fn read(&self, uri: &str) -> Result<String, Refusal>;
    /// Returns false once the client may not use the catalog any longer, which ends its subscriptions.
    fn is_open(&self) -> bool {
        true
    }
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
