//! The protocol's numbers, each stated once.

/// Most bytes a document may have after normalisation.
pub const MAX_DOCUMENT_BYTES: usize = 65_536;
/// Characters of a document that a prompt will carry; a save above it answers with a warning.
pub const PROMPT_DOCUMENT_CHARACTERS: usize = 16_000;
/// Most bytes of one incoming message.
pub const MAX_MESSAGE_BYTES: usize = 1024 * 1024;
/// Most calls of one batch.
pub const MAX_BATCH_CALLS: usize = 64;
/// Most bytes of all answers of one batch.
pub const MAX_BATCH_ANSWER_BYTES: usize = 8 * 1024 * 1024;
/// Revisions a history answers with when the caller names no limit.
pub const DEFAULT_HISTORY_LIMIT: u32 = 50;
/// Most revisions one history call answers with.
pub const MAX_HISTORY_LIMIT: u32 = 500;
/// Bytes of steps after which a `turn/get` answers with no further one.
pub const TURN_PAGE_BYTES: usize = 4 * 1024 * 1024;
/// Most threads one `thread/list` answers with.
pub const MAX_THREAD_LIST_LIMIT: u32 = 1_000;
/// Most skills one `skill/list` answers with.
pub const MAX_SKILL_LIST: usize = 1_000;
/// Most characters of a workspace, folder or token name, or of a thread title.
pub const MAX_NAME_CHARACTERS: usize = 200;
/// Most characters of the message that a save may carry.
pub const MAX_SAVE_MESSAGE_CHARACTERS: usize = 500;
/// Most bytes of the text of something that is remembered.
pub const MAX_MEMORY_BYTES: usize = 16_384;
/// Most items that one `memory/import` takes.
pub const MAX_MEMORY_IMPORT: usize = 500;
/// Most items that one `memory/search` answers with.
pub const MAX_MEMORY_SEARCH: u32 = 100;
/// Items a search answers with when the caller names no limit.
pub const DEFAULT_MEMORY_SEARCH: u32 = 20;
/// Most bytes of a path.
pub const MAX_PATH_BYTES: usize = 4_096;
/// Most turns that wait for one thread. Whoever asks over HTTP cannot be told that nobody waits any more, so that turns
/// could otherwise pile up without end.
pub const MAX_WAITING_TURNS: usize = 32;

/// The limits that a client meets, with what each is of: the table of the protocol reference.
pub const TABLE: &[(usize, &str)] = &[
    (MAX_MESSAGE_BYTES, "bytes of one incoming message"),
    (MAX_BATCH_CALLS, "calls of one batch; a longer one is refused whole"),
    (MAX_BATCH_ANSWER_BYTES, "bytes of a batch's answers; a call whose answer no longer fits gets an error"),
    (MAX_DOCUMENT_BYTES, "bytes of a document's text after normalisation"),
    (
        PROMPT_DOCUMENT_CHARACTERS,
        "characters of a document that a prompt carries; a longer one is saved with a warning",
    ),
    (MAX_NAME_CHARACTERS, "characters of a workspace's, folder's or token's name, or of a thread's title"),
    (MAX_SAVE_MESSAGE_CHARACTERS, "characters of the message of a save"),
    (MAX_MEMORY_BYTES, "bytes of the text of something that is remembered"),
    (MAX_MEMORY_IMPORT, "items of one `memory/import`"),
    (MAX_MEMORY_SEARCH as usize, "items of one `memory/search` answer"),
    (MAX_PATH_BYTES, "bytes of a path"),
    (MAX_THREAD_LIST_LIMIT as usize, "threads of one `thread/list` answer"),
    (MAX_SKILL_LIST, "skills of one `skill/list` answer"),
    (TURN_PAGE_BYTES, "bytes of steps after which a `turn/get` answers with no further one"),
    (MAX_WAITING_TURNS, "turns that wait for one thread at one gateway"),
    (MAX_HISTORY_LIMIT as usize, "revisions of one history answer"),
    (DEFAULT_HISTORY_LIMIT as usize, "revisions of a history answer when the call names no limit"),
];
