//! Turns: prompts, rounds of a model and its tools, and everything recorded about them.
//!
//! [`Agent::prepare`] compiles the prompt of a thread's next turn. [`Agent::record`] stores the prompt that was sent,
//! [`Agent::rebuild`] shows it again, and [`Agent::blame`] compares it with another one, even much later.
//!
//! As in `store`, public futures are boxed: the body of an `async fn` is compiled again in every crate that awaits
//! it.

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
mod statistics;
mod subject;
mod turn;
mod why;

pub use self::prompt::compare::{CompareTarget, OwnFiles, SurveyTarget};
pub use self::prompt::manifests::Pruned;
pub use self::prompt::prepare::{Prepared, PreparedSession, PromptRequest, SessionStart};
pub use self::prompt::preview::{Preview, directory_preview};
pub use agent::Agent;
pub use blocking::blocking;
pub use domains::documents::DOCUMENT_HOOK;
pub use domains::memory::MEMORY_HOOK;
pub use domains::memory::privacy::{hide_notes_of_others, memory_of_another};
pub use domains::skills::SKILLS_HOOK;
pub use error::AgentError;
pub use explain::request::{RebuiltRequest, RequestError};
pub use explain::view::turn_reminder;
pub use settings::{
    AgentSettings, Clock, DelegationSettings, PromptSettings, RetentionSettings, TurnLimits, TurnSettings,
    WhenBusy,
};
pub use statistics::Figures;
pub use turn::listener::TurnListener;
pub use why::WhyTarget;
