//! Reads the transcripts that coding agents leave on disk, and answers "my agent ignored my rule, why?".
//!
//! One importer for each agent turns its format into the same [`Event`]s. A [`Digest`] keeps what a verdict
//! needs of them: the instruction texts, the compactions, the sizes of requests. [`why`] finds the line of the
//! rule, completes what a transcript does not contain from snapshots, Git or the agent's profile, and judges.
//!
//! Reading is streaming, bounded and read-only. Formats change often, so unknown records are skipped and counted.

mod agent;
mod digest;
mod event;
mod import;
mod index;
mod lines;
mod model;
mod recorder;
mod sources;
mod timeline;
mod verdict;

pub use agent::{AGENTS, TranscriptAgent};
pub use digest::{Digest, DigestEntry, FoundViolation, LoadedText, Search, SearchError};
pub use event::{Event, EventKind, InstructionText, Layer, MessageRole, Origin, Remainder, Sink};
pub use model::{ReadError, RecordedTexts, TranscriptHeader};
pub use sources::{Homes, Location, Source, sources};
pub use timeline::timeline;
pub use verdict::missed::{MissedFile, missed_files};
pub use verdict::rule::RuleError;
pub use verdict::thread::{DOCUMENT_PATH, ThreadQuestion, ThreadRecord, ThreadTurn, why_thread};
pub use verdict::why::{
    Found, FoundSessions, SessionChoice, SessionsRequest, WhyAnswer, WhyError, WhyRequest, find_sessions,
    project_root, why,
};
