//! Turns of threads, and everything that is recorded while they run.

pub(crate) mod approvals;
pub(crate) mod cancellation;
pub(crate) mod delegation;
pub(crate) mod events;
pub(crate) mod hook_runs;
pub(crate) mod items;
pub(crate) mod lease;
pub(crate) mod manifests;
pub(crate) mod prompt_texts;
pub(crate) mod requested_tools;
pub(crate) mod rounds;
pub(crate) mod sessions;
pub(crate) mod thread_contexts;
pub(crate) mod turn;

pub use approvals::ApprovalAnswer;
pub use cancellation::UnansweredTurn;
pub use delegation::NewChildThread;
pub use events::TurnEvent;
pub use items::{RangePart, StoredItem, TurnRange};
pub use lease::{Lease, TurnHold};
pub use prompt_texts::PromptText;
pub use rounds::{BeginRound, StoredHistory, TurnStart, TurnSubject};
pub use thread_contexts::ThreadContext;
pub use turn::{FinishTurn, INSERT_TURN, TurnActor, TurnEnd};
