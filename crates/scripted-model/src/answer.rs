//! Scripted answers and their defects.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;

#[derive(Debug, Clone)]
pub struct Answer {
    pub(crate) content: AnswerContent,
    pub(crate) headers: Vec<(&'static str, String)>,
    pub(crate) delivery: Delivery,
}

#[derive(Debug, Clone)]
pub(crate) enum AnswerContent {
    Message(Script),
    Error(ErrorAnswer),
    Raw { status: u16, content_type: String, body: Vec<u8> },
}

/// A successful answer in neutral terms.
#[derive(Debug, Clone)]
pub(crate) struct Script {
    pub(crate) parts: Vec<ScriptPart>,
    pub(crate) deltas: usize,
    pub(crate) stop: Option<Stop>,
    pub(crate) tokens: Tokens,
    pub(crate) form: MessageForm,
}

/// Format of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MessageForm {
    Stream,
    Whole,
}

#[derive(Debug, Clone)]
pub(crate) enum ScriptPart {
    Text(String),
    ToolCall { id: String, name: String, arguments: String },
    Reasoning { text: String, signature: String },
    HiddenReasoning { data: String },
}

/// Errors, which each API reports differently.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ErrorAnswer {
    ContextTooLong,
    WrongKey,
    UnknownModel,
    RateLimited,
    QuotaUsedUp,
    Failure(u16),
}

/// Explicit reason for stopping.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    /// The output limit was reached.
    MaxOutputTokens,
    Refused,
}

/// Token usage reported by the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tokens {
    /// Input tokens, cached or not.
    pub input: u64,
    pub output: u64,
    /// Tokens read from a cache.
    pub cached_read: u64,
    /// Tokens written to a cache; only Anthropic reports them.
    pub cached_write: u64,
    /// Reasoning tokens.
    pub reasoning: u64,
}

/// Handle that resumes a held answer.
#[derive(Debug, Clone, Default)]
pub struct Release(pub(crate) Arc<Notify>);

impl Release {
    /// Resumes the answer, now or when it reaches the hold.
    pub fn now(&self) {
        // `notify_one` stores a permit if nothing waits yet. `notify_waiters` would be lost whenever the test releases
        // the answer before it has reached the hold.
        self.0.notify_one();
    }
}

/// Treatment of the bytes.
#[derive(Debug, Clone, Default)]
pub(crate) struct Delivery {
    pub(crate) silent: bool,
    pub(crate) cut: Option<CutAt>,
    pub(crate) stall: Option<CutAt>,
    pub(crate) hold: Option<(usize, Release)>,
    pub(crate) inserts: Vec<(usize, Vec<u8>)>,
    pub(crate) piece: Option<usize>,
    pub(crate) pause: Option<Duration>,
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum CutAt {
    Bytes(usize),
    Events(usize),
}

impl Answer {
    fn of(content: AnswerContent) -> Self {
        Self { content, headers: Vec::new(), delivery: Delivery::default() }
    }

    pub fn empty() -> Self {
        let tokens = Tokens { input: 100, output: 20, cached_read: 60, cached_write: 0, reasoning: 5 };
        let form = MessageForm::Stream;
        Self::of(AnswerContent::Message(Script { parts: Vec::new(), deltas: 1, stop: None, tokens, form }))
    }

    pub fn text(text: &str) -> Self {
        Self::empty().and_text(text)
    }

    /// A prompt that is too long, as each API reports it.
    pub fn context_too_long() -> Self {
        Self::of(AnswerContent::Error(ErrorAnswer::ContextTooLong))
    }

    /// A rejected key.
    pub fn wrong_key() -> Self {
        Self::of(AnswerContent::Error(ErrorAnswer::WrongKey))
    }

    /// An unknown model.
    pub fn unknown_model() -> Self {
        Self::of(AnswerContent::Error(ErrorAnswer::UnknownModel))
    }

    /// Too many requests, with a `retry-after` header.
    pub fn rate_limited(retry_after: &str) -> Self {
        Self::of(AnswerContent::Error(ErrorAnswer::RateLimited)).header("retry-after", retry_after)
    }

    /// Too many requests, without a delay.
    pub fn too_many_requests() -> Self {
        Self::of(AnswerContent::Error(ErrorAnswer::RateLimited))
    }

    /// An account without quota.
    pub fn quota_used_up() -> Self {
        Self::of(AnswerContent::Error(ErrorAnswer::QuotaUsedUp))
    }

    /// A failure with a status of 500 or more.
    pub fn failure(status: u16) -> Self {
        Self::of(AnswerContent::Error(ErrorAnswer::Failure(status)))
    }

    pub fn raw(status: u16, content_type: &str, body: impl Into<Vec<u8>>) -> Self {
        Self::of(AnswerContent::Raw { status, content_type: content_type.to_owned(), body: body.into() })
    }

    /// No answer: the connection stays open, and nothing is sent.
    pub fn silence() -> Self {
        let mut answer = Self::empty();
        answer.delivery.silent = true;
        answer
    }

    pub fn and_text(self, text: &str) -> Self {
        self.part(ScriptPart::Text(text.to_owned()))
    }

    /// Adds a tool call; several are parallel ones.
    pub fn tool_call(self, id: &str, name: &str, arguments: &str) -> Self {
        let id = id.to_owned();
        let name = name.to_owned();
        let arguments = arguments.to_owned();
        self.part(ScriptPart::ToolCall { id, name, arguments })
    }

    /// Adds reasoning with its signature.
    pub fn reasoning(self, text: &str, signature: &str) -> Self {
        self.part(ScriptPart::Reasoning { text: text.to_owned(), signature: signature.to_owned() })
    }

    /// Adds reasoning that only the model can read.
    pub fn hidden_reasoning(self, data: &str) -> Self {
        self.part(ScriptPart::HiddenReasoning { data: data.to_owned() })
    }

    /// Splits every text into `count` pieces.
    pub fn in_deltas(self, count: usize) -> Self {
        self.scripted(|script| script.deltas = count.max(1))
    }

    /// Sends a single JSON value although a stream was requested.
    pub fn whole(self) -> Self {
        self.scripted(|script| script.form = MessageForm::Whole)
    }

    /// Sets the stop reason.
    pub fn stop(self, stop: Stop) -> Self {
        self.scripted(|script| script.stop = Some(stop))
    }

    pub fn tokens(self, tokens: Tokens) -> Self {
        self.scripted(|script| script.tokens = tokens)
    }

    pub fn header(mut self, name: &'static str, value: &str) -> Self {
        self.headers.push((name, value.to_owned()));
        self
    }

    /// Breaks the connection after `count` bytes of the body.
    pub fn cut_after_bytes(mut self, count: usize) -> Self {
        self.delivery.cut = Some(CutAt::Bytes(count));
        self
    }

    /// Breaks the connection after `count` events.
    pub fn cut_after_events(mut self, count: usize) -> Self {
        self.delivery.cut = Some(CutAt::Events(count));
        self
    }

    /// Stops sending after `count` bytes of the body, and keeps the connection open.
    pub fn stall_after_bytes(mut self, count: usize) -> Self {
        self.delivery.stall = Some(CutAt::Bytes(count));
        self
    }

    /// Stops sending after `count` events, and keeps the connection open.
    pub fn stall_after_events(mut self, count: usize) -> Self {
        self.delivery.stall = Some(CutAt::Events(count));
        self
    }

    /// Stops sending after `count` events until the test resumes it, so that a turn is certain to be running however slow the
    /// machine is.
    pub fn held_after_events(mut self, count: usize) -> (Self, Release) {
        let release = Release::default();
        self.delivery.hold = Some((count, release.clone()));
        (self, release)
    }

    /// Inserts arbitrary bytes after a number of events.
    pub fn insert(mut self, after_events: usize, bytes: impl Into<Vec<u8>>) -> Self {
        self.delivery.inserts.push((after_events, bytes.into()));
        self
    }

    /// Sends the body in pieces of `bytes` bytes, wherever that splits it.
    pub fn in_pieces_of(mut self, bytes: usize) -> Self {
        self.delivery.piece = Some(bytes.max(1));
        self
    }

    /// Waits before every piece.
    pub fn drip(mut self, pause: Duration) -> Self {
        self.delivery.pause = Some(pause);
        self
    }

    fn part(self, part: ScriptPart) -> Self {
        self.scripted(|script| script.parts.push(part))
    }

    /// Changes a message. Errors have nothing to change.
    fn scripted(mut self, change: impl FnOnce(&mut Script)) -> Self {
        if let AnswerContent::Message(script) = &mut self.content {
            change(script);
        }
        self
    }
}

impl Script {
    /// Splits a text into the configured number of pieces.
    pub(crate) fn pieces<'a>(&self, text: &'a str) -> Vec<&'a str> {
        // Pieces end between characters: each is sent as a JSON string, which cannot contain half of one. Tests that
        // split characters cut the bytes of the body instead.
        let ends: Vec<usize> = text.char_indices().map(|(at, _)| at).skip(1).chain([text.len()]).collect();
        let count = self.deltas.min(ends.len());
        let mut pieces = Vec::new();
        let mut from = 0;
        for piece in 1..=count {
            let to = ends[piece * ends.len() / count - 1];
            pieces.push(&text[from..to]);
            from = to;
        }
        pieces
    }

    pub(crate) fn has_calls(&self) -> bool {
        self.parts.iter().any(|part| matches!(part, ScriptPart::ToolCall { .. }))
    }
}
