//! Limits of the protocol, each defined once.

/// Most bytes of a document after normalization.
pub const MAX_DOCUMENT_BYTES: usize = 65_536;
/// Most characters of a document in a prompt. A longer one is saved with a warning.
pub const PROMPT_DOCUMENT_CHARACTERS: usize = 16_000;
/// Most bytes of one incoming message.
pub const MAX_MESSAGE_BYTES: usize = 1024 * 1024;
/// Most calls in one batch.
pub const MAX_BATCH_CALLS: usize = 64;
/// Most bytes of all responses to one batch.
pub const MAX_BATCH_ANSWER_BYTES: usize = 8 * 1024 * 1024;
/// Number of revisions in a history without an explicit limit.
pub const DEFAULT_HISTORY_LIMIT: u32 = 50;
/// Most revisions in one history.
pub const MAX_HISTORY_LIMIT: u32 = 500;
/// Bytes of steps after which a page of `turn/get` ends.
pub const TURN_PAGE_BYTES: usize = 4 * 1024 * 1024;
/// Most threads in one `thread/list` page.
pub const MAX_THREAD_LIST_LIMIT: u32 = 1_000;
/// Most skills in one `skill/list` result.
pub const MAX_SKILL_LIST: usize = 1_000;
/// Most characters of a workspace, folder or token name, or of a thread title.
pub const MAX_NAME_CHARACTERS: usize = 200;
/// Most characters of a save's message.
pub const MAX_SAVE_MESSAGE_CHARACTERS: usize = 500;
/// Most bytes of a memory item's text.
pub const MAX_MEMORY_BYTES: usize = 16_384;
/// Most items in one `memory/import`.
pub const MAX_MEMORY_IMPORT: usize = 500;
/// Most items in one `memory/search` result.
pub const MAX_MEMORY_SEARCH: u32 = 100;
/// Number of items in a search result without an explicit limit.
pub const DEFAULT_MEMORY_SEARCH: u32 = 20;
/// Most bytes of a path.
pub const MAX_PATH_BYTES: usize = 4_096;
/// Most turns waiting for one thread.
// A caller over plain HTTP cannot be noticed leaving, so without this limit abandoned turns would pile up
// behind a slow one.
pub const MAX_WAITING_TURNS: usize = 32;

/// Most characters of the context that a caller gives to a turn.
// As much as a section of the prompt may have by default.
pub const MAX_TURN_CONTEXT_CHARACTERS: usize = 8_000;

/// Limits visible to clients, with their meaning, as shown in the protocol reference.
pub const TABLE: &[(usize, &str)] = &[
    (MAX_MESSAGE_BYTES, "bytes of one incoming message"),
    (MAX_BATCH_CALLS, "calls in one batch; a longer batch is rejected"),
    (
        MAX_BATCH_ANSWER_BYTES,
        "bytes of all responses to a batch; a call whose response does not fit gets an error",
    ),
    (MAX_DOCUMENT_BYTES, "bytes of a document's text after normalization"),
    (
        PROMPT_DOCUMENT_CHARACTERS,
        "characters of a document in a prompt; a longer one is saved with a warning",
    ),
    (MAX_NAME_CHARACTERS, "characters of a workspace's, folder's or token's name, or of a thread's title"),
    (MAX_SAVE_MESSAGE_CHARACTERS, "characters of the message of a save"),
    (MAX_MEMORY_BYTES, "bytes of a memory item's text"),
    (MAX_MEMORY_IMPORT, "items in one `memory/import`"),
    (MAX_MEMORY_SEARCH as usize, "items in one `memory/search` result"),
    (MAX_PATH_BYTES, "bytes of a path"),
    (MAX_THREAD_LIST_LIMIT as usize, "threads in one `thread/list` page"),
    (MAX_SKILL_LIST, "skills in one `skill/list` result"),
    (TURN_PAGE_BYTES, "bytes of steps after which a page of `turn/get` ends"),
    (MAX_TURN_CONTEXT_CHARACTERS, "characters of a turn's `context`"),
    (MAX_WAITING_TURNS, "turns waiting for one thread at one gateway"),
    (MAX_HISTORY_LIMIT as usize, "revisions in one history"),
    (DEFAULT_HISTORY_LIMIT as usize, "revisions in a history without an explicit limit"),
];
