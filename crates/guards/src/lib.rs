//! Guards: rules in instruction files that are enforced, not only read.
//!
//! A guard is an HTML comment such as `<!-- guard: deny command "npm *" -->`. [`Guarded::at`] finds the guards that hold
//! in a directory, and [`Guarded::decide`] applies them to a tool call.
//!
//! ```
//! use guards::{Action, Guarded, Verdict};
//! use instructions::FileSettings;
//!
//! let directory = tempfile::tempdir()?;
//! let text = "- Use pnpm, never npm. <!-- guard: deny command \"npm *\" -->\n";
//! std::fs::write(directory.path().join("AGENTS.md"), text)?;
//! let guarded = Guarded::at(directory.path(), None, &[FileSettings::default()], None)?;
//! let decision = guarded.decide(&Action::Command("cd web && npm install"));
//! assert_eq!(decision.verdict, Verdict::Deny);
//! assert_eq!(decision.reason().as_deref(), Some("denied by AGENTS.md:1: Use pnpm, never npm."));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![warn(missing_docs)]

mod comment;
mod decision;
mod guard;
mod guarded;
mod pattern;
mod shell;

pub use comment::{FoundGuard, GuardProblem, find};
pub use decision::{Action, Decision, Verdict};
pub use guard::{Effect, Guard, GuardKind};
pub use guarded::Guarded;
pub use shell::{ShellLine, Splitting};
