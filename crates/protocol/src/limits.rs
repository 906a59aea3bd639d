//! The protocol's numbers, each stated once.

/// Most bytes a document may have after normalisation.
pub const MAX_DOCUMENT_BYTES: usize = 65_536;
/// Characters of a document that a prompt will carry; a save above it answers with a warning.
pub const PROMPT_DOCUMENT_CHARACTERS: usize = 16_000;
/// Most bytes of one incoming message.
pub const MAX_MESSAGE_BYTES: usize = 1024 * 1024;
/// Revisions a history answers with when the caller names no limit.
pub const DEFAULT_HISTORY_LIMIT: u32 = 50;
/// Most revisions one history call answers with.
pub const MAX_HISTORY_LIMIT: u32 = 500;
/// Most characters of a workspace, folder or token name, or of a thread title.
pub const MAX_NAME_CHARACTERS: usize = 200;
/// Most bytes of a path.
pub const MAX_PATH_BYTES: usize = 4_096;
