//! Resolution of the instruction files (AGENTS.md and others) that a coding agent reads in a directory.
//!
//! A [`Profile`] describes an agent's rules as data. [`resolve`] applies them to a directory and returns the
//! exact text, its files, and a decision for every candidate. A [`Session`] records the files that an agent
//! has seen. Its [`Resolver`] announces files that newly apply as the agent touches other paths, and a
//! [`ResumeDifference`] contains the changes since the session was last used.
//!
//! The crate is synchronous. One [`Cache`] can be shared by any number of threads.
//!
//! ```
//! use instructions::{FileSettings, Request, resolve};
//!
//! let directory = tempfile::tempdir()?;
//! std::fs::write(directory.path().join("AGENTS.md"), "Answer briefly.\n")?;
//! let settings = FileSettings::default();
//! let resolution = resolve(&Request { cwd: directory.path(), settings: &settings }, None)?;
//! assert!(resolution.text.as_deref().is_some_and(|text| text.contains("Answer briefly.")));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![warn(missing_docs)]

mod cache;
mod diagnostic;
mod fs;
pub mod profile;
mod resolve;
mod session;
mod settings;
mod text;

pub use cache::Cache;
pub use diagnostic::{Diagnostic, DiagnosticCode, Severity};
pub use fs::git_hooks::git_program_paths;
pub use fs::snapshot::{Blob, Blobs, ObjectId, Snapshot, SnapshotEntry};
pub use fs::source::{EntryState, FileSource, SourceEntry};
pub use fs::{contained_path, file, path, stored_path};
pub use profile::{
    AIDER, AMP, ANTIGRAVITY, BlockRole, CLAUDE_CODE, CLINE, CODELIA, CODEX, CONTINUE, COPILOT, CURSOR, DEVIN,
    DROID, FOREWORD, GEMINI_CLI, GOOSE, GROK, JUNIE, KILO, KIMI, OPENCODE, OPENCODE_2, PI, PI_0_73_1,
    PROFILES, Profile, ProtectedPlace, QWEN_CODE, UnsafeText, ZED, protected_paths, protected_place,
};
pub use resolve::applies_to::{AppliesTo, Target};
pub use resolve::decision::{Decision, Outcome};
pub use resolve::reason::{DecisionReason, LimitEffect};
pub use resolve::relation::Relation;
pub use resolve::render::Block;
pub use resolve::resolution::{
    FileScope, InstructionFile, Request, Resolution, ResolveError, configured_names, resolve, survey,
    survey_for, survey_reading,
};
pub use resolve::survey::OTHER_AGENTS;
pub use session::cleanup::{is_named_by_digest, own_files};
pub use session::delivery::{DeliveredText, Delivery, FileRead, FileReader, InlineBudget, Purpose};
pub use session::file::{
    ParseError, PendingSessionWrite, SessionFile, SessionFileError, parse as parse_session,
};
pub use session::frozen::{FrozenChange, FrozenFile};
pub use session::reminder::{
    FileNovelty, Reminder, ReminderFile, ReminderWording, ResumeLines, SystemReminderType,
};
pub use session::removal::{RemovalReason, RemovedFile};
pub use session::resolver::{Announcement, ResolvedAgents, ResolvedFile, Resolver, SkipReason};
pub use session::resume::ResumeDifference;
pub use session::{FileProblem, FileVersion, InitialChain, SCHEMA, Session};
pub use settings::file::SettingsFileError;
pub use settings::json::{is_distrusted, settings_object};
pub use settings::{
    AboveRoot, AgentsConfig, AgentsInitial, AgentsResolver, AgentsRoot, FileSettings, HomeDirectories,
    INLINE_BYTES, LinkBounds, MAX_FILES_PER_RESOLVE, ProjectBounds, SettingsError,
};
pub use text::content_hash::{ContentHash, hex};
pub use text::front_matter::{Audience, audience_of};
pub use text::named_imports::{NamedImport, named_imports};
pub use text::safety::{
    UnsafeKind, UnsafePart, is_invisible, is_unseen, make_harmless, neutralise, reorders_text, shown_parts,
    skeleton, unsafe_parts,
};
pub use text::{common_prefix, header};
