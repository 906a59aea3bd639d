//! Pages of the main area besides the editor.

pub mod compare;
pub mod effective;
pub mod history;
mod parts;
pub mod prompt;
pub mod thread;

pub use compare::CompareView;
pub use effective::EffectiveView;
pub use history::HistoryView;
pub use prompt::PromptView;
pub use thread::ThreadView;
