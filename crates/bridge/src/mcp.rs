//! A server of the Model Context Protocol.
//!
//! [`Session`] is what one client and the server say to each other, whatever carries it; [`serve`] carries it over two
//! streams. What is offered is an [`Offer`]; [`Toolbox`] is the one that Foreword makes, over whatever [`Source`] answers.

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

/// What a server has.
pub trait Offer: Sync {
    /// The tools.
    fn tools(&self) -> Vec<Tool>;
    /// Runs a tool for a client that calls itself `client`. The refusal is for the model, which may try again.
    fn call(&self, client: &str, tool: &str, arguments: &Value) -> Result<Answer, Refusal>;
    /// Resources that a client can read.
    fn resources(&self) -> Vec<Resource>;
    /// Forms of the addresses of others.
    fn templates(&self) -> Vec<Resource>;
    /// The text of a resource; the refusal says why there is none.
    fn read(&self, uri: &str) -> Result<String, Refusal>;
}

/// A tool.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Tool {
    /// What it is called.
    pub name: &'static str,
    /// What it is for.
    pub description: &'static str,
    /// The schema of its arguments.
    pub input_schema: Value,
    /// Hints for clients that ask their user first.
    pub annotations: Value,
}

/// What a tool answers: a text for the model, and the same as data.
#[derive(Debug, Clone)]
pub struct Answer {
    /// For the model.
    pub text: String,
    /// For programs.
    pub data: Option<Value>,
}

/// Why something is not done: a text for the model, and, where there is one, the error as data.
#[derive(Debug, Clone)]
pub struct Refusal {
    /// What went wrong and what to do.
    pub message: String,
    /// For programs.
    pub data: Option<Value>,
}

impl Refusal {
    /// A refusal in words alone.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), data: None }
    }
}

impl From<String> for Refusal {
    fn from(message: String) -> Self {
        Self::new(message)
    }
}

/// A resource, or a form of addresses.
#[derive(Debug, Clone)]
pub struct Resource {
    /// Its address.
    pub uri: String,
    /// What it is called.
    pub name: String,
    /// What it is.
    pub description: &'static str,
}
