//! The facts about a session that its transcript states.

use std::path::PathBuf;

use protocol::Timestamp;
use serde::{Deserialize, Serialize};

/// Facts about a session.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TranscriptHeader {
    /// Id of the session.
    pub id: String,
    /// Session that started this one.
    pub parent: Option<String>,
    /// Version of the agent.
    pub version: Option<String>,
    /// Title, or the beginning of the first prompt.
    pub title: Option<String>,
    /// Working directory at the start.
    pub cwd: Option<PathBuf>,
    /// First and last time in the transcript.
    pub started_at: Option<Timestamp>,
    pub ended_at: Option<Timestamp>,
    /// Commit that was checked out at the start.
    pub commit: Option<String>,
    /// Git directory with the snapshots of the session.
    pub snapshots: Option<PathBuf>,
    /// Kind of subagent, as the agent calls it.
    pub role: Option<String>,
    /// Instruction texts that the transcript contains.
    pub recorded: RecordedTexts,
    /// True if the agent still seems to be running.
    pub running: bool,
}

/// Instruction texts that a transcript contains as sent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordedTexts {
    /// Project files loaded at the start.
    pub start: bool,
    /// The user's own files.
    pub home: bool,
    /// Files loaded when a tool reads in their directory.
    pub nested: bool,
}

impl RecordedTexts {
    /// Everything that the model received.
    pub const ALL: Self = Self { start: true, home: true, nested: true };
}

/// Reason why a transcript cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The file is inaccessible.
    #[error("could not read {}: {source}", path.display())]
    File {
        path: PathBuf,
        /// Error of the system.
        source: std::io::Error,
    },
    /// The database is inaccessible or has other tables.
    #[error("could not read the database {}: {source}", path.display())]
    Database {
        path: PathBuf,
        /// Error of SQLite.
        source: rusqlite::Error,
    },
}
