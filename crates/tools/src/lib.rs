//! Tools that a model can call: tools for files and a shell, and a router that checks every call against its round and its
//! permissions.
//!
//! Tools come from [`ToolSource`]s, which are queried in every round of a turn, and are collected in a [`Toolbox`]. A
//! [`Router`] serves one round: a tool that is not in its list cannot be called, whatever any text claims. It validates
//! arguments against the tool's schema, requests approval where a write needs it, runs the call, and sanitises the answer.
//! Every failure is an answer that a model can act on.
//!
//! Every path stays below the workspace's root of the [`ToolContext`]: checks apply to the opened file, links included.
//! [`Reminder`](instructions::Reminder)s are values beside an answer's text and are never parsed from it.
//!
//! ```
//! use tools::{Router, ToolCall, ToolContext, Toolbox};
//!
//! # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
//! let directory = tempfile::tempdir()?;
//! std::fs::write(directory.path().join("notes.txt"), "one\ntwo\nthree\n")?;
//!
//! let toolbox = Toolbox::files();
//! let context = ToolContext::open(directory.path(), directory.path())?;
//! let router = Router::new(&toolbox, ["read_file"], context)?;
//!
//! let call = |name: &str, arguments: &str| ToolCall {
//!     id: "1".into(),
//!     name: name.into(),
//!     arguments: arguments.into(),
//! };
//! let output = router.call(call("read_file", r#"{"path": "notes.txt", "offset": 2}"#)).await;
//! assert_eq!(output.text, "two\nthree\n");
//!
//! let output = router.call(call("read_file", r#"{"path": "../secret"}"#)).await;
//! assert!(output.is_error && output.text.contains("outside the workspace"));
//!
//! let output = router.call(call("write_file", "{}")).await;
//! assert!(output.text.starts_with("there is no tool `write_file`"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod call;
mod files;
mod shell;
mod toolset;

pub use call::arguments::{ArgumentError, ToolArguments};
pub use call::context::{ContextError, ToolContext};
pub use call::guarding::Guarding;
pub use call::limits::ToolLimits;
pub use call::output::ToolOutput;
pub use call::permission::{
    ApprovalDecision, Approvals, DenyAll, GateClosed, Permission, Permissions, RunGate,
};
pub use call::router::{CheckedCall, Router, UnknownTool};
pub use call::trim::Keep;
pub use call::unreported_effects::{UnreportedCall, UnreportedEffects};
pub use files::edit_file::EditFile;
pub(crate) use files::error::FileError;
pub use files::list_dir::ListDir;
pub use files::read_file::ReadFile;
pub use files::search::Search;
pub use files::write_file::WriteFile;
pub use protocol::{ApprovalRequest, ToolCall, ToolSpec};
pub use sandbox::Program;
pub use shell::{RestoredFiles, Shell, ShellSettings, restore_after_kill};
pub use toolset::request_tools::{REQUEST_TOOLS, RequestTools, RequestedTools};
pub use toolset::source::{FileToolSource, RoundContext, ShellToolSource, ToolSource};
pub use toolset::tool::{Access, Needs, Tool, Touch};
pub use toolset::toolbox::{MAX_NAME_CHARS, ToolDescription, Toolbox, ToolboxError};
