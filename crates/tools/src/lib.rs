//! What a model can call: tools for files and a shell, and a router that holds every call to its round and its
//! permissions.
//!
//! Tools come from [`ToolSource`]s, which are asked in every round of a turn, and are collected in a [`Toolbox`]. A
//! [`Router`] stands for one round: what is not in its list cannot be called, whatever any text says. It holds arguments to the tool's schema, asks where a write asks, runs the call, and makes
//! the answer fit to be sent. Whatever goes wrong is an answer that a model can act on.
//!
//! Every path stays below the workspace's root of the [`ToolContext`]: what is judged is what was opened, links
//! included. [`Reminder`](instructions::Reminder)s are values beside an answer's text, never read from it.
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

mod arguments;
mod authorisation;
mod content;
mod context;
mod edit_file;
mod error;
mod limits;
mod list_dir;
mod output;
mod permission;
mod place;
mod protection;
mod question;
mod queue;
mod read_file;
mod replacement;
mod request_tools;
mod restoration;
mod router;
mod search;
mod shell;
mod source;
mod tool;
mod toolbox;
mod trim;
mod untold;
mod work;
mod write_file;

pub use arguments::{ArgumentError, Arguments};
pub use context::{ContextError, ToolContext};
pub use edit_file::EditFile;
pub(crate) use error::FileError;
pub use limits::ToolLimits;
pub use list_dir::ListDir;
pub use output::ToolOutput;
pub use permission::{Approvals, Decision, GateClosed, Nobody, Permission, Permissions, RunGate};
pub use protocol::{ApprovalRequest, ToolCall, ToolSpec};
pub use read_file::ReadFile;
pub use request_tools::{REQUEST_TOOLS, RequestTools, RequestedTools};
pub use router::{CheckedCall, Router, UnknownTool};
pub use sandbox::Program;
pub use search::Search;
pub use shell::{Shell, ShellSettings};
pub use source::{FileTools, RoundContext, ShellTools, ToolSource};
pub use tool::{Access, Needs, Tool, Touch};
pub use toolbox::{MAX_NAME_CHARS, ToolDescription, Toolbox, ToolboxError};
pub use trim::Keep;
pub use untold::{UntoldCall, UntoldEffects};
pub use write_file::WriteFile;
