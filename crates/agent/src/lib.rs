//! The turn, over the rooms that know its parts: files, hooks, prompts and the store.
//!
//! [`Agent::prepare`] makes the prompt of a thread's next turn. What was sent is kept by [`Agent::record`], and can be
//! shown again ([`Agent::rebuild`]) and compared with another prompt ([`Agent::blame`]) long afterwards.
//!
//! As in `store`, what others await is boxed: the body of an `async fn` is compiled again wherever it is awaited.

mod agent;
mod background_jobs;
mod blocking;
mod directory;
mod domains;
mod error;
mod explain;
mod history;
mod hook_run_writer;
mod ownership;
mod prompt;
mod retention;
mod settings;
mod subject;
mod turn;

pub use self::prompt::compare::{ComparedPlace, OwnFiles, SurveyedPlace};
pub use self::prompt::manifests::Pruned;
pub use self::prompt::prepare::{Prepared, PreparedSession, PromptRequest, Reach, SessionStart};
pub use self::prompt::preview::{Preview, directory_preview};
pub use agent::Agent;
pub use blocking::blocking;
pub use domains::documents::DOCUMENT_HOOK;
pub use domains::memory::MEMORY_HOOK;
pub use domains::memory::privacy::{hide_notes_of_others, memory_of_another};
pub use domains::skills::SKILLS_HOOK;
pub use error::AgentError;
pub use explain::view::shown;
pub use settings::{
    AgentSettings, Clock, DelegationSettings, PromptSettings, RetentionSettings, TurnLimits, TurnSettings,
    WhenBusy,
};
pub use turn::listener::TurnListener;
