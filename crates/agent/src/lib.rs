//! The turn, over the rooms that know its parts: files, hooks, prompts and the store.
//!
//! [`Agent::prepare`] makes the prompt of a thread's next turn. What was sent is kept by [`Agent::keep`], and can be
//! shown again ([`Agent::rebuild`]) and held against another prompt ([`Agent::blame`]) long afterwards.

mod approvals;
mod call_ids;
mod calls;
mod contributions;
mod directory;
mod document_hook;
mod entry;
mod error;
mod explanation;
mod facts;
mod history;
mod preparation;
mod proof;
mod queue;
mod records;
mod round;
mod round_tools;
mod running;
mod settings;
mod summary;
mod thread_session;
mod turn;
mod view;

pub use document_hook::DOCUMENT_HOOK;
pub use error::AgentError;
pub use preparation::{Agent, Prepared, PreparedSession, PromptRequest};
pub use settings::{Clock, FileSettings, PromptSettings, Settings, TurnSettings, WhenBusy};
pub use turn::TurnListener;
pub use view::{on_the_wire, shown};
