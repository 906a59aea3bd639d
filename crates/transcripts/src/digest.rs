//! The part of a session that a verdict needs: instruction texts, changes of the context, sizes of requests.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use protocol::{DeliveryTime, Timestamp, TranscriptFile, TranscriptSession, Violation};
use regex_automata::meta::Regex;
use serde::{Deserialize, Serialize};

use crate::agent::TranscriptAgent;
use crate::event::{Event, EventKind, InstructionText, Layer, MessageRole, Origin, Remainder, Sink};
use crate::model::TranscriptHeader;

/// Bytes of one instruction text that are kept.
const MAX_TEXT: usize = 1024 * 1024;
/// Bytes of all instruction texts of a session that are kept.
const MAX_TEXTS: usize = 16 * 1024 * 1024;
/// Entries of a session that are kept.
const MAX_ENTRIES: usize = 200_000;
/// Longest line of a violation that is shown, in characters.
const MAX_LINE: usize = 240;

/// A session, without its messages.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Digest {
    pub agent: TranscriptAgent,
    pub header: TranscriptHeader,
    /// Number of messages.
    pub messages: u64,
    /// Number of compactions.
    pub compactions: u64,
    /// Size of the largest request in tokens.
    pub tokens: Option<u64>,
    /// Events, in order.
    pub entries: Vec<DigestEntry>,
    /// Instruction texts that the entries refer to.
    pub texts: Vec<LoadedText>,
    /// Contents of the texts. Agents send the same text many times.
    pub bodies: Vec<String>,
    /// The violation, if a search was given and matched.
    pub violation: Option<FoundViolation>,
    /// Clauses about records that could not be read.
    pub problems: Vec<String>,
}

impl Digest {
    /// Returns the texts that are in front of the model after this many entries.
    pub fn visible(&self, position: usize) -> Vec<usize> {
        let mut visible: Vec<usize> = Vec::new();
        let layer = |index: &usize| self.texts[*index].layer;
        for entry in self.entries.iter().take(position) {
            match entry {
                DigestEntry::Text(index) => visible.push(*index),
                DigestEntry::Compaction { kept, .. } => {
                    visible.retain(|index| layer(index) == Layer::System || kept.contains(index));
                }
                DigestEntry::Removed(removed) => visible.retain(|index| layer(index) != *removed),
                DigestEntry::Replaced(texts) => {
                    visible.retain(|index| layer(index) == Layer::System);
                    visible.extend(texts);
                }
                DigestEntry::System(texts) => {
                    visible.retain(|index| layer(index) != Layer::System);
                    visible.extend(texts);
                }
                DigestEntry::Start { .. }
                | DigestEntry::Announced { .. }
                | DigestEntry::Snapshot { .. }
                | DigestEntry::Usage { .. } => {}
            }
        }
        visible
    }

    /// Returns the content of a text.
    pub fn body(&self, text: usize) -> &str {
        self.texts.get(text).and_then(|text| self.bodies.get(text.body)).map_or("", String::as_str)
    }

    /// Adds a text that is not in the transcript, and returns its index.
    pub(crate) fn add(&mut self, text: NewText) -> usize {
        let body = self.bodies.iter().position(|known| *known == text.body).unwrap_or_else(|| {
            self.bodies.push(text.body);
            self.bodies.len() - 1
        });
        self.texts.push(LoadedText {
            path: Some(text.path),
            body,
            message: text.message,
            at: None,
            when: text.when,
            layer: text.layer,
            origin: Origin::File,
            record: None,
        });
        self.texts.len() - 1
    }

    /// Returns the session for a list.
    pub fn session(&self, subagents: u64) -> TranscriptSession {
        let header = &self.header;
        let cwd = header.cwd.as_deref().unwrap_or(Path::new("")).to_string_lossy().into_owned();
        let mut files: Vec<TranscriptFile> = Vec::new();
        for text in self.texts.iter().filter(|text| text.origin != Origin::Tool) {
            let path =
                text.path.as_ref().map_or_else(|| cwd.clone(), |path| path.to_string_lossy().into_owned());
            let file = TranscriptFile { path, message: text.message, when: text.when };
            if !files.contains(&file) {
                files.push(file);
            }
        }
        TranscriptSession {
            agent: self.agent.name().to_owned(),
            version: header.version.clone(),
            id: header.id.clone(),
            parent: header.parent.clone(),
            title: header.title.clone(),
            started_at: header.started_at.unwrap_or(Timestamp::from_milliseconds(0)),
            cwd,
            messages: self.messages,
            tokens: self.tokens,
            files,
            compactions: self.compactions,
            subagents,
            running: header.running,
            problems: self.problems.clone(),
        }
    }
}

/// A violation and its position among the entries.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FoundViolation {
    pub violation: Violation,
    /// Number of entries before it.
    pub position: usize,
    /// Time of the message.
    pub at: Option<Timestamp>,
}

/// An event that changes the context, or measures it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum DigestEntry {
    /// A process of the agent started.
    Start { at: Option<Timestamp>, resumed: bool },
    /// A text entered the context.
    Text(usize),
    /// A file entered the context, but only its path is known.
    Announced { path: PathBuf, message: u64, at: Option<Timestamp> },
    /// The conversation was replaced; these texts remained.
    Compaction { message: u64, kept: Vec<usize> },
    /// The texts of a layer left the context.
    Removed(Layer),
    /// Exactly these texts are in the conversation.
    Replaced(Vec<usize>),
    /// Exactly these texts are in the system prompt.
    System(Vec<usize>),
    /// The worktree had this state.
    Snapshot { tree: String },
    /// A request had this size.
    Usage { input_tokens: u64 },
}

/// An instruction text that was in front of the model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoadedText {
    pub path: Option<PathBuf>,
    /// Index of the content.
    pub body: usize,
    pub message: u64,
    pub at: Option<Timestamp>,
    pub when: DeliveryTime,
    pub layer: Layer,
    pub origin: Origin,
    record: Option<String>,
}

/// A text that is not in the transcript.
pub(crate) struct NewText {
    pub(crate) path: PathBuf,
    pub(crate) body: String,
    pub(crate) message: u64,
    pub(crate) when: DeliveryTime,
    pub(crate) layer: Layer,
}

/// Search for a violation.
#[derive(Debug, Clone)]
pub struct Search(Pattern);

#[derive(Debug, Clone)]
enum Pattern {
    Text(String),
    Regex(Box<Regex>),
}

/// Reason why a search is invalid.
#[derive(Debug, thiserror::Error)]
pub enum SearchError {
    #[error("the text to search for is empty")]
    Empty,
    #[error("`{0}` is not a regular expression: {1}")]
    Regex(String, String),
}

impl Search {
    /// Parses a text, or a regular expression between slashes.
    pub fn parse(text: &str) -> Result<Self, SearchError> {
        if text.trim().is_empty() {
            return Err(SearchError::Empty);
        }
        let expression = text.strip_prefix('/').and_then(|rest| rest.strip_suffix('/'));
        let Some(expression) = expression.filter(|expression| !expression.is_empty()) else {
            return Ok(Self(Pattern::Text(text.to_owned())));
        };
        let regex = Regex::new(expression)
            .map_err(|error| SearchError::Regex(expression.to_owned(), error.to_string()))?;
        Ok(Self(Pattern::Regex(Box::new(regex))))
    }

    /// Returns the first matching line of a text.
    pub fn find<'a>(&self, text: &'a str) -> Option<&'a str> {
        let range = match &self.0 {
            Pattern::Text(wanted) => {
                let start = memchr::memmem::find(text.as_bytes(), wanted.as_bytes())?;
                start..start + wanted.len()
            }
            Pattern::Regex(regex) => regex.find(text)?.range(),
        };
        let start = text[..range.start].rfind('\n').map_or(0, |end| end + 1);
        let end = text[range.start..].find('\n').map_or(text.len(), |end| range.start + end);
        Some(&text[start..end])
    }
}

/// Collects a digest.
pub(crate) struct Digester<'a> {
    search: Option<&'a Search>,
    messages: u64,
    compactions: u64,
    tokens: Option<u64>,
    entries: Vec<DigestEntry>,
    texts: Vec<LoadedText>,
    bodies: Vec<String>,
    known: HashMap<String, usize>,
    bytes: usize,
    visible: Vec<usize>,
    tree: String,
    violation: Option<FoundViolation>,
    is_full: bool,
}

impl<'a> Digester<'a> {
    pub(crate) fn new(search: Option<&'a Search>) -> Self {
        Self {
            search,
            messages: 0,
            compactions: 0,
            tokens: None,
            entries: Vec::new(),
            texts: Vec::new(),
            bodies: Vec::new(),
            known: HashMap::new(),
            bytes: 0,
            visible: Vec::new(),
            tree: String::new(),
            violation: None,
            is_full: false,
        }
    }

    /// Returns the digest.
    pub(crate) fn finish(
        self,
        agent: TranscriptAgent,
        header: TranscriptHeader,
        mut problems: Vec<String>,
    ) -> Digest {
        if self.is_full {
            problems.push("the session has more instruction texts than are kept".to_owned());
        }
        Digest {
            agent,
            header,
            messages: self.messages,
            compactions: self.compactions,
            tokens: self.tokens,
            entries: self.entries,
            texts: self.texts,
            bodies: self.bodies,
            violation: self.violation,
            problems,
        }
    }

    fn push(&mut self, entry: DigestEntry) {
        if self.entries.len() < MAX_ENTRIES {
            self.entries.push(entry);
        } else {
            self.is_full = true;
        }
    }

    fn search(&mut self, (message, at): (u64, Option<Timestamp>), tool: Option<&str>, text: &str) {
        let Some(search) = self.search.filter(|_| self.violation.is_none()) else { return };
        if let Some(line) = search.find(text) {
            let mut shown: String = line.trim().chars().take(MAX_LINE).collect();
            if shown.len() < line.trim().len() {
                shown.push('…');
            }
            let violation = Violation { message, tool: tool.map(str::to_owned), text: shown };
            self.violation = Some(FoundViolation { violation, position: self.entries.len(), at });
        }
    }

    /// Keeps a text and returns its index.
    fn keep(&mut self, text: InstructionText, message: u64, at: Option<Timestamp>) -> Option<usize> {
        let mut body = text.text;
        if body.len() > MAX_TEXT {
            body.truncate(body.floor_char_boundary(MAX_TEXT));
        }
        let body = match self.known.get(&body) {
            Some(body) => *body,
            None if self.bytes + body.len() > MAX_TEXTS => {
                self.is_full = true;
                return None;
            }
            None => {
                self.bytes += body.len();
                self.bodies.push(body.clone());
                self.known.insert(body, self.bodies.len() - 1);
                self.bodies.len() - 1
            }
        };
        let InstructionText { path, when, layer, origin, record, .. } = text;
        let message = if layer == Layer::System { 0 } else { message };
        self.texts.push(LoadedText { path, body, message, at, when, layer, origin, record });
        Some(self.texts.len() - 1)
    }

    fn compaction(&mut self, message: u64, remainder: &Remainder) {
        self.compactions += 1;
        let stays = |index: &usize| {
            let text = &self.texts[*index];
            match remainder {
                Remainder::Records(records) => {
                    text.record.as_ref().is_some_and(|record| records.contains(record))
                }
                Remainder::Loaded => text.origin != Origin::Tool,
                Remainder::Within(context) => {
                    let body = self.bodies[text.body].trim();
                    !body.is_empty() && context.contains(body)
                }
            }
        };
        let conversation = |index: &usize| self.texts[*index].layer == Layer::Conversation;
        let kept: Vec<usize> =
            self.visible.iter().copied().filter(|index| conversation(index) && stays(index)).collect();
        self.visible.retain(|index| self.texts[*index].layer == Layer::System || kept.contains(index));
        self.push(DigestEntry::Compaction { message, kept });
    }

    fn replaced(&mut self, texts: Vec<InstructionText>, message: u64, at: Option<Timestamp>) {
        let mut indexes = Vec::new();
        for text in texts {
            // A text that was there before keeps its delivery.
            let known = self.visible.iter().copied().find(|index| {
                let known = &self.texts[*index];
                known.path == text.path && self.bodies[known.body] == text.text
            });
            indexes.extend(known.or_else(|| self.keep(text, message, at)));
        }
        indexes.sort_unstable();
        indexes.dedup();
        self.visible.retain(|index| self.texts[*index].layer == Layer::System);
        self.visible.extend(&indexes);
        self.push(DigestEntry::Replaced(indexes));
    }
}

impl Sink for Digester<'_> {
    fn needs_text(&self) -> bool {
        self.search.is_some() && self.violation.is_none()
    }

    fn take(&mut self, Event { message, at, kind }: Event) {
        self.messages = self.messages.max(message);
        match kind {
            EventKind::Start { resumed } => self.push(DigestEntry::Start { at, resumed }),
            EventKind::Message { role: MessageRole::Assistant, text: Some(text) } => {
                self.search((message, at), None, &text);
            }
            EventKind::Message { .. } => {}
            EventKind::Call { tool, input, .. } => self.search((message, at), Some(&tool), &input),
            EventKind::Instructions(text) => {
                if let Some(index) = self.keep(text, message, at) {
                    self.visible.push(index);
                    self.push(DigestEntry::Text(index));
                }
            }
            EventKind::Announced { path } => self.push(DigestEntry::Announced { path, message, at }),
            EventKind::Compaction(remainder) => self.compaction(message, &remainder),
            EventKind::Removed(layer) => {
                let texts = &self.texts;
                self.visible.retain(|index| texts[*index].layer != layer);
                self.push(DigestEntry::Removed(layer));
            }
            EventKind::Replaced(texts) => self.replaced(texts, message, at),
            EventKind::Snapshot { tree } => {
                if tree != self.tree {
                    self.tree.clone_from(&tree);
                    self.push(DigestEntry::Snapshot { tree });
                }
            }
            EventKind::Usage { input_tokens } => {
                self.tokens = Some(self.tokens.map_or(input_tokens, |most| most.max(input_tokens)));
                self.push(DigestEntry::Usage { input_tokens });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn searches_find_texts_and_expressions() {
        let search = |text: &str| Search::parse(text).unwrap();
        assert_eq!(search("npm install").find("a\nsudo npm install x\nb"), Some("sudo npm install x"));
        assert_eq!(search("/npm (i|install)\\b/").find("npm i left-pad"), Some("npm i left-pad"));
        assert_eq!(search("/").find("a/b"), Some("a/b"));
        assert_eq!(search("yarn").find("npm"), None);
        assert!(matches!(Search::parse("/(/"), Err(SearchError::Regex(..))));
        assert!(matches!(Search::parse(" "), Err(SearchError::Empty)));
    }
}
