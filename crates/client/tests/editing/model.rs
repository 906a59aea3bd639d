//! An in-memory document of one scope, and an editor of it.

use std::ops::{Deref, DerefMut};
use std::time::Instant;

use client::{Editing, EditingCall, Failure, LocalDraft, RequestNumber};
use protocol::{ContentHash, Document, DocumentStatus, Timestamp, Version};

pub(crate) fn document(version: u64, content: &str) -> Document {
    Document {
        id: "d".parse().unwrap(),
        workspace_id: "w".parse().unwrap(),
        folder_id: None,
        status: DocumentStatus::Active,
        title: "AGENTS.md".into(),
        content: content.into(),
        content_sha256: ContentHash::of(content),
        version: Version(version),
        char_count: content.chars().count() as u64,
        created_at: Timestamp::from_milliseconds(0),
        updated_at: Timestamp::from_milliseconds(0),
        archived_at: None,
        created_by: None,
        updated_by: None,
    }
}

/// A scope with its document, revisions and announcements.
#[derive(Debug, Default)]
pub(crate) struct Scope {
    version: u64,
    pub(crate) current: Option<Document>,
    /// Every text that was ever saved.
    pub(crate) revisions: Vec<String>,
    /// Document after each change. `None` means archived.
    pub(crate) log: Vec<Option<Document>>,
}

impl Scope {
    /// Saves by the rules of the contract: identical text changes nothing, an outdated version conflicts.
    pub(crate) fn save(
        &mut self,
        content: &str,
        expected: Version,
    ) -> Result<Document, Option<Box<Document>>> {
        let content = protocol::text::normalise(content);
        if let Some(current) = self.current.as_ref().filter(|current| current.content == content) {
            return Ok(current.clone());
        }
        if self.current.as_ref().map_or(Version(0), |current| current.version) != expected {
            return Err(self.current.clone().map(Box::new));
        }
        self.version += 1;
        let saved = document(self.version, &content);
        self.current = Some(saved.clone());
        self.revisions.push(content.into_owned());
        self.log.push(Some(saved.clone()));
        Ok(saved)
    }

    pub(crate) fn archive(&mut self) {
        if self.current.take().is_some() {
            self.version += 1;
            self.log.push(None);
        }
    }
}

/// An editor that reports results for its last request, which is right as long as none is abandoned.
#[derive(Clone)]
pub(crate) struct Editor {
    editing: Editing,
    last: RequestNumber,
}

impl Editor {
    pub(crate) fn new(document: Option<&Document>) -> Self {
        Self { editing: Editing::new(document), last: RequestNumber::default() }
    }

    pub(crate) fn open(draft: Option<LocalDraft>) -> Self {
        Self { editing: Editing::open(draft), last: RequestNumber::default() }
    }

    pub(crate) fn poll(&mut self, now: Instant) -> Option<EditingCall> {
        let request = self.editing.poll(now)?;
        self.last = request.number;
        Some(request.call)
    }

    pub(crate) fn saved(&mut self, document: &Document, now: Instant) {
        self.editing.saved(self.last, document, now);
    }

    pub(crate) fn conflicted(&mut self, current: Option<&Document>, now: Instant) {
        self.editing.conflicted(self.last, current, now);
    }

    pub(crate) fn fetched(&mut self, document: Option<&Document>, now: Instant) {
        self.editing.fetched(self.last, document, now);
    }

    pub(crate) fn failed(&mut self, failure: Failure, now: Instant) {
        self.editing.failed(self.last, failure, now);
    }
}

impl Deref for Editor {
    type Target = Editing;

    fn deref(&self) -> &Editing {
        &self.editing
    }
}

impl DerefMut for Editor {
    fn deref_mut(&mut self) -> &mut Editing {
        &mut self.editing
    }
}
