//! The events that every importer produces.

use std::path::PathBuf;

use protocol::{DeliveryTime, Timestamp};

/// An event of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// Number of the current message; 0 before the first one.
    pub message: u64,
    /// Time of the event.
    pub at: Option<Timestamp>,
    /// The event.
    pub kind: EventKind,
}

/// Kind of an event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EventKind {
    /// The agent's process started.
    Start { resumed: bool },
    /// A message. `text` is `None` if the sink does not need texts.
    Message { role: MessageRole, text: Option<String> },
    /// A tool call. `input` has the texts of its arguments, one per line.
    Call { tool: String, input: String, path: Option<String> },
    /// An instruction text reached the model.
    Instructions(InstructionText),
    /// A file reached the model, but the transcript has only its path.
    Announced { path: PathBuf },
    /// The conversation was replaced. Texts that remain stay in front of the model.
    Compaction(Remainder),
    /// The texts of a layer left the context without a compaction.
    Removed(Layer),
    /// The whole context now has exactly these texts.
    Replaced(Vec<InstructionText>),
    /// State of the worktree, as a tree of the session's snapshot repository.
    Snapshot { tree: String },
    /// Size of a request in tokens.
    Usage { input_tokens: u64 },
}

/// Author of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MessageRole {
    User,
    Assistant,
    Tool,
}

/// An instruction text in front of the model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InstructionText {
    /// Path under which the agent loaded it; `None` if the transcript has only the text.
    pub path: Option<PathBuf>,
    pub text: String,
    pub when: DeliveryTime,
    pub layer: Layer,
    pub origin: Origin,
    /// Id of the record, for compactions that name the records they keep.
    pub record: Option<String>,
}

/// Part of a request that holds a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum Layer {
    /// The system prompt, which compactions do not touch.
    System,
    /// The conversation.
    Conversation,
}

/// Origin of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum Origin {
    /// The agent loaded the text of a file.
    File,
    /// The agent loaded the texts of several files as one, the user's own before the project's.
    Joined,
    /// The agent sent a part of a file that has changed.
    Excerpt,
    /// A tool printed the file.
    Tool,
}

/// Texts that survive a compaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Remainder {
    /// Those of the records with these ids.
    Records(Vec<String>),
    /// Those that the new context contains.
    Within(String),
    /// Those that the agent loaded itself, which it sends again. Results of tools are gone.
    Loaded,
}

/// Consumer of events.
pub trait Sink {
    /// Returns true if messages must carry their texts, which costs time.
    fn needs_text(&self) -> bool;
    /// Takes an event.
    fn take(&mut self, event: Event);
}
