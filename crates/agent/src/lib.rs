//! The turn, over the rooms that know its parts: files, hooks, prompts and the store.
//!
//! [`Agent::prepare`] makes the prompt of a thread's next turn. What was sent is kept by [`Agent::keep`], and can be
//! shown again ([`Agent::rebuild`]) and held against another prompt ([`Agent::blame`]) long afterwards.

mod contributions;
mod directory;
mod document_hook;
mod error;
mod facts;
mod preparation;
mod proof;
mod records;
mod settings;

pub use document_hook::DOCUMENT_HOOK;
pub use error::AgentError;
pub use preparation::{Agent, Prepared, PreparedSession, PromptRequest};
pub use settings::{Clock, FileSettings, KeepTexts, PromptSettings, Settings};
