//! The stored session of a thread.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Session, ThreadId, Timestamp, Version};

/// A value and the stored version that it is based on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Versioned<T> {
    /// The value.
    pub value: T,
    /// Version that it was read or derived from; a write of the value must expect this version.
    // Two turns may end at the same time on different gateways. The version makes the later write fail
    // instead of undoing the earlier one.
    pub version: Version,
}

/// A thread's stored session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ThreadSession {
    /// The thread.
    pub thread_id: ThreadId,
    /// Number of saves, from 1.
    pub version: Version,
    /// Time of the last save.
    pub updated_at: Timestamp,
    /// The session, in the format of `foreword session show`.
    pub state: Session,
}
