//! The turn, over the rooms that know its parts: files, hooks, prompts and the store.
//!
//! [`Agent::prepare`] makes the prompt of a thread's next turn. What was sent is kept by [`Agent::record`], and can be
//! shown again ([`Agent::rebuild`]) and compared with another prompt ([`Agent::blame`]) long afterwards.
//!
//! As in `store`, what others await is boxed: the body of an `async fn` is compiled again wherever it is awaited.

mod approvals;
mod background_jobs;
mod call_ids;
mod comparison;
mod contributions;
mod delegation;
mod directory;
mod document_hook;
mod error;
mod explained_rounds;
mod explanation;
mod held_turn;
mod history;
mod manifests;
mod memory_domain;
mod memory_extraction;
mod memory_tools;
mod ownership;
mod plan;
mod preparation;
mod preview;
mod private_memory;
mod queue;
mod records;
mod retelling;
mod round;
mod round_tools;
mod running;
mod runtime_context;
mod settings;
mod skill_queries;
mod skills_domain;
mod subject;
mod summary;
mod task;
mod thread_session;
mod tool_executor;
mod turn;
mod turn_lease;
mod turn_message;
mod turn_notes;
mod unanswered;
mod undone_files;
mod view;

pub use comparison::{ComparedPlace, OwnFiles, SurveyedPlace};
pub use document_hook::DOCUMENT_HOOK;
pub use error::AgentError;
pub use manifests::Pruned;
pub use memory_domain::MEMORY_HOOK;
pub use preparation::{Agent, Prepared, PreparedSession, PromptRequest, Reach, SessionStart};
pub use preview::{Preview, directory_preview};
pub use private_memory::{hide_notes_of_others, memory_of_another};
pub use settings::{
    AgentSettings, Clock, DelegationSettings, PromptSettings, RetentionSettings, TurnLimits, TurnSettings,
    WhenBusy,
};
pub use skills_domain::SKILLS_HOOK;
pub use task::blocking;
pub use turn::TurnListener;
pub use view::shown;
