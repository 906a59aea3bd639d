//! The session of a thread, as it is stored and shown.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Session, ThreadId, Timestamp, Version};

/// What a thread remembers about instruction files.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ThreadSession {
    /// The thread.
    pub thread_id: ThreadId,
    /// Counts the saves from 1.
    pub version: Version,
    /// When it was saved.
    pub updated_at: Timestamp,
    /// The session as `foreword session show` has it.
    pub state: Session,
}
