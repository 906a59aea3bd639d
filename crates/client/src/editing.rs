//! The state of editing one document: what is saved, what is not, and what to do when somebody else saved.
//!
//! Pure: it holds no connection, reads no clock and draws nothing. Whoever owns it feeds it what the user typed, what the
//! gateway answered and announced, and what time it is; [`Editing::poll`] says what to send next. At most one request is
//! awaited. [`Editing::disconnected`] gives it up; every request has a number, so that an answer which comes all the same
//! is not taken for that of the request after it.
//!
//! Three texts matter: the *base* is what the gateway last confirmed and the user's text grew from, the *text* is what the
//! user sees, and the *remote* is what the gateway has instead of the base. Nothing typed is lost: the text changes only by
//! the user's hand, by their choice in a conflict, or while it is the base.

mod draft;
mod resolution;

use std::time::{Duration, Instant};

use protocol::limits::{MAX_DOCUMENT_BYTES, PROMPT_DOCUMENT_CHARACTERS};
use protocol::text::normalise;
use protocol::{Document, DocumentSummary, SaveReason, Version};

use crate::{Failure, Marks, RequestNumber, backoff};

pub use draft::{DraftChange, LocalDraft};

/// How long after the last key a text is saved.
pub const AUTOSAVE_AFTER: Duration = Duration::from_millis(700);

/// What to ask the gateway for, and how to report what became of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EditingRequest {
    /// Its number, which the report names.
    pub number: RequestNumber,
    /// What to ask for.
    pub call: EditingCall,
}

/// What to ask the gateway for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EditingCall {
    /// Save a text.
    Save(Save),
    /// Get the scope's own document.
    Fetch,
}

/// A text to save.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Save {
    /// The text.
    pub content: String,
    /// The version it is based on.
    pub expected_version: Version,
    /// Why it is saved.
    pub reason: SaveReason,
}

/// What to tell the user about an edited document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EditingStatus {
    /// The document has not come yet.
    Loading,
    /// What the user sees is what the gateway has.
    Saved,
    /// Something was typed and will be saved soon.
    Unsaved,
    /// A save is under way.
    Saving,
    /// There is no connection; what is not saved is kept as a local draft.
    Offline,
    /// Somebody else changed the document under local edits; the user has to choose.
    Conflict,
    /// A merge left marks in the text; it is saved once they are gone.
    Unmerged,
    /// The text is longer than a gateway takes; it is kept as a local draft and saved once it is shorter.
    TooLong {
        /// Bytes of the text.
        bytes: usize,
        /// Bytes that a gateway takes.
        limit: usize,
    },
    /// The gateway did not save, or did not answer with the document.
    Failed {
        /// What happened.
        message: String,
        /// When it is tried again; none: when the user changes the text or asks for it.
        retries_at: Option<Instant>,
    },
}

/// How long a text is, against what a prompt carries of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CharacterCount {
    /// Characters of the text.
    pub count: usize,
    /// Characters that a prompt carries.
    pub limit: usize,
}

impl CharacterCount {
    /// Whether a prompt would cut the text.
    pub fn is_over(self) -> bool {
        self.count > self.limit
    }
}

/// A text of a scope and its version; version 0 is a scope without a document.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Known {
    text: String,
    version: Version,
}

impl Known {
    fn of(document: Option<&Document>) -> Self {
        document.map_or_else(Self::default, |document| Self {
            text: document.content.clone(),
            version: document.version,
        })
    }

    fn exists(&self) -> bool {
        self.version != Version(0)
    }
}

/// A request that has no answer yet.
#[derive(Debug, Clone)]
struct UnderWay {
    number: RequestNumber,
    asked: Asked,
}

#[derive(Debug, Clone)]
enum Asked {
    Save { text: String },
    Fetch,
}

/// What a notification said about the gateway's document that this editor does not have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Announced {
    /// There is this version.
    Version(Version),
    /// There is none any more.
    Archived,
    /// The connection was away, or the document has never come: there may be anything.
    Anything,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Attempt {
    Save,
    Fetch,
}

/// When to save, and why.
#[derive(Debug, Clone, Copy)]
struct Due {
    at: Instant,
    reason: SaveReason,
}

/// Why the last try failed. Saves and fetches fail for different reasons: whoever may not save can still follow the
/// document.
#[derive(Debug, Clone)]
struct Problem {
    of: Attempt,
    message: String,
    attempts: u32,
    retries_at: Option<Instant>,
}

/// One document being edited.
#[derive(Debug, Clone)]
pub struct Editing {
    text: String,
    /// Counts the times the text was replaced by something else than the user's typing.
    text_epoch: u64,
    base: Known,
    /// In a conflict, what the gateway has.
    remote: Option<Known>,
    is_loaded: bool,
    is_offline: bool,
    /// The marks of merges that were taken, as far as they are still in the text.
    marks: Vec<Marks>,
    under_way: Option<UnderWay>,
    /// The number of the last request.
    last_request: RequestNumber,
    /// A save whose answer was lost: it may have happened or not, or still be about to. So it stays until a save is answered,
    /// or its text turns up.
    unconfirmed: Option<String>,
    announced: Option<Announced>,
    due: Option<Due>,
    problem: Option<Problem>,
    /// The draft as the owner last heard of it.
    told_draft: Option<LocalDraft>,
}

impl Editing {
    /// Starts with a scope's own document, or with nothing.
    pub fn new(document: Option<&Document>) -> Self {
        let base = Known::of(document);
        Self {
            text: base.text.clone(),
            text_epoch: 0,
            base,
            remote: None,
            is_loaded: true,
            is_offline: false,
            marks: Vec::new(),
            under_way: None,
            last_request: RequestNumber::default(),
            unconfirmed: None,
            announced: None,
            due: None,
            problem: None,
            told_draft: None,
        }
    }

    /// Starts before the document is there, with the draft that an earlier run left behind, if any. It is fetched first.
    pub fn open(draft: Option<LocalDraft>) -> Self {
        let mut editing = Self { is_loaded: false, announced: Some(Announced::Anything), ..Self::new(None) };
        if let Some(draft) = draft {
            editing.base = Known { text: draft.base_text.clone(), version: draft.base_version };
            editing.text.clone_from(&draft.text);
            editing.marks.clone_from(&draft.marks);
            // It may have been on its way to the gateway when the program ended.
            editing.unconfirmed = Some(draft.text.clone());
            editing.told_draft = Some(draft);
        }
        editing
    }

    /// The text the user sees.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Grows whenever [`text`](Self::text) was replaced by something else than [`edit`](Self::edit): then an editor has to
    /// show it anew.
    pub fn text_epoch(&self) -> u64 {
        self.text_epoch
    }

    /// The text that the gateway last confirmed and that the user's grew from.
    pub fn base(&self) -> &str {
        &self.base.text
    }

    /// The version of the base; 0 when there was no document.
    pub fn version(&self) -> Version {
        self.base.version
    }

    /// In a conflict, what the gateway has: a text, or nothing where the document was archived.
    pub fn remote(&self) -> Option<Option<&str>> {
        self.remote.as_ref().map(|remote| remote.exists().then_some(remote.text.as_str()))
    }

    /// Whether the user's text is another one than the gateway confirmed.
    pub fn has_unsaved(&self) -> bool {
        normalise(&self.text) != self.base.text
    }

    /// Whether there is nothing to save, nothing to decide and nothing under way.
    pub fn is_settled(&self) -> bool {
        self.under_way.is_none() && self.remote.is_none() && !self.has_unsaved() && self.unconfirmed.is_none()
    }

    /// How long the text is.
    pub fn characters(&self) -> CharacterCount {
        CharacterCount { count: self.text.chars().count(), limit: PROMPT_DOCUMENT_CHARACTERS }
    }

    /// What to tell the user.
    pub fn status(&self) -> EditingStatus {
        if self.remote.is_some() {
            return EditingStatus::Conflict;
        }
        if self.is_offline {
            return EditingStatus::Offline;
        }
        if self.is_saving() {
            return EditingStatus::Saving;
        }
        if let Some(Problem { message, retries_at, .. }) = &self.problem {
            return EditingStatus::Failed { message: message.clone(), retries_at: *retries_at };
        }
        if !self.is_loaded {
            return EditingStatus::Loading;
        }
        if self.has_marks() {
            return EditingStatus::Unmerged;
        }
        if self.is_too_long() {
            return EditingStatus::TooLong { bytes: normalise(&self.text).len(), limit: MAX_DOCUMENT_BYTES };
        }
        if self.has_unsaved() { EditingStatus::Unsaved } else { EditingStatus::Saved }
    }

    /// The user changed the text.
    pub fn edit(&mut self, text: impl Into<String>, now: Instant) {
        let text = text.into();
        if text == self.text {
            return;
        }
        self.text = text;
        self.marks.retain(|marks| marks.are_in(&self.text));
        // Typing what the gateway has leaves nothing to choose between.
        if let Some(remote) = self.remote.take_if(|remote| normalise(&self.text) == remote.text) {
            self.base = remote;
        }
        if !self.has_unsaved() {
            self.forget_failed_save();
        }
        self.due = Some(Due { at: now + AUTOSAVE_AFTER, reason: SaveReason::Autosave });
        // What could not be saved was another text.
        if self.problem.as_ref().is_some_and(|problem| problem.retries_at.is_none()) {
            self.problem = None;
        }
    }

    /// The user looks elsewhere, closes the document or opens another one: what is unsaved is saved now.
    pub fn leave(&mut self, now: Instant) {
        if self.has_unsaved() && self.due.is_none_or(|due| due.at > now) {
            let reason = self.due.map_or(SaveReason::Autosave, |due| due.reason);
            self.due = Some(Due { at: now, reason });
        }
    }

    /// The user asks for a save: now, also after a failure, and with marks of a merge in the text.
    pub fn save(&mut self, now: Instant) {
        self.marks.clear();
        self.problem = None;
        if self.has_unsaved() {
            self.due = Some(Due { at: now, reason: SaveReason::Manual });
        }
    }

    /// The user asks for another try of what failed. Unlike [`save`](Self::save) it leaves a text with marks of a merge alone.
    pub fn retry(&mut self, now: Instant) {
        self.problem = None;
        if self.has_unsaved() {
            self.due = Some(Due { at: now, reason: SaveReason::Manual });
        }
    }

    /// What to ask the gateway for now.
    pub fn poll(&mut self, now: Instant) -> Option<EditingRequest> {
        if self.is_offline || self.under_way.is_some() {
            return None;
        }
        if self.announced.is_some() {
            if self.retry_of(Attempt::Fetch).is_some_and(|at| at.is_none_or(|at| at > now)) {
                return None;
            }
            self.announced = None;
            return Some(self.request(Asked::Fetch, EditingCall::Fetch));
        }
        if self.retry_of(Attempt::Save).is_some_and(|at| at.is_none_or(|at| at > now)) {
            return None;
        }
        let due = self.due.filter(|due| due.at <= now && self.may_save())?;
        self.due = None;
        let (content, expected_version) = (self.text.clone(), self.base.version);
        let asked = Asked::Save { text: content.clone() };
        Some(self.request(asked, EditingCall::Save(Save { content, expected_version, reason: due.reason })))
    }

    fn request(&mut self, asked: Asked, call: EditingCall) -> EditingRequest {
        let number = self.last_request.next();
        self.under_way = Some(UnderWay { number, asked });
        EditingRequest { number, call }
    }

    /// The text of the save that a report is about; none when it was given up, or is another request.
    fn take_save(&mut self, number: RequestNumber) -> Option<String> {
        let is_it = |it: &mut UnderWay| it.number == number && matches!(it.asked, Asked::Save { .. });
        match self.under_way.take_if(is_it)?.asked {
            Asked::Save { text } => Some(text),
            Asked::Fetch => None,
        }
    }

    /// When to call [`poll`](Self::poll) although nothing happened.
    pub fn wake_at(&self) -> Option<Instant> {
        if self.is_offline || self.under_way.is_some() {
            return None;
        }
        if self.announced.is_some() {
            return self.retry_of(Attempt::Fetch).flatten();
        }
        let due = self.due.filter(|_| self.may_save())?.at;
        match self.retry_of(Attempt::Save) {
            None => Some(due),
            Some(retry) => Some(retry?.max(due)),
        }
    }

    /// The gateway saved.
    pub fn saved(&mut self, number: RequestNumber, document: &Document, now: Instant) {
        let Some(text) = self.take_save(number) else { return };
        self.problem = None;
        self.unconfirmed = None;
        self.base = Known::of(Some(document));
        if self.text == text {
            // The gateway may have normalised line ends; what the user has not touched since follows it.
            self.replace_text(document.content.clone());
        }
        self.forget_announced();
        self.still_unsaved(now);
    }

    /// The gateway said that somebody else saved first.
    pub fn conflicted(&mut self, number: RequestNumber, current: Option<&Document>, now: Instant) {
        if self.take_save(number).is_none() {
            return;
        }
        self.problem = None;
        self.compare(Known::of(current), now);
        self.forget_announced();
    }

    /// The document as the gateway has it now, which was asked for.
    pub fn fetched(&mut self, number: RequestNumber, document: Option<&Document>, now: Instant) {
        let is_it = |it: &mut UnderWay| it.number == number && matches!(it.asked, Asked::Fetch);
        if self.under_way.take_if(is_it).is_none() {
            return;
        }
        self.problem.take_if(|problem| problem.of == Attempt::Fetch);
        self.is_loaded = true;
        self.compare(Known::of(document), now);
        self.forget_announced();
    }

    /// A request failed, for another reason than a conflict. The text stays to be saved again.
    pub fn failed(&mut self, number: RequestNumber, failure: Failure, now: Instant) {
        let Some(under_way) = self.under_way.take_if(|it| it.number == number) else { return };
        let of = match under_way.asked {
            Asked::Fetch => {
                self.announced = Some(Announced::Anything);
                Attempt::Fetch
            }
            Asked::Save { text } => {
                if failure.is_outcome_unknown {
                    // The next save would be a conflict with our own text if this one happened.
                    self.unconfirmed = Some(text);
                    self.announced = Some(Announced::Anything);
                }
                self.due.get_or_insert(Due { at: now, reason: SaveReason::Autosave });
                Attempt::Save
            }
        };
        let before = self.problem.take_if(|problem| problem.of == of);
        let attempts = before.map_or(0, |problem| problem.attempts) + 1;
        let retries_at = failure.is_transient.then(|| now + backoff::pause(attempts));
        self.problem = Some(Problem { of, message: failure.message, attempts, retries_at });
    }

    /// The gateway announced a change of the scope's document; none: it was archived.
    pub fn remote_changed(&mut self, summary: Option<&DocumentSummary>) {
        let announced = match summary {
            Some(summary) => Announced::Version(summary.version),
            None => Announced::Archived,
        };
        self.announced = match self.announced {
            Some(Announced::Anything) => Some(Announced::Anything),
            _ => Some(announced),
        };
        if self.under_way.is_none() {
            self.forget_announced();
        }
    }

    /// The connection is gone, and with it the answer that was awaited.
    pub fn disconnected(&mut self) {
        self.is_offline = true;
        match self.under_way.take().map(|under_way| under_way.asked) {
            Some(Asked::Save { text }) => self.unconfirmed = Some(text),
            Some(Asked::Fetch) => self.announced = Some(Announced::Anything),
            None => {}
        }
    }

    /// The connection is back: first comes what happened meanwhile.
    pub fn reconnected(&mut self, now: Instant) {
        self.is_offline = false;
        self.announced = Some(Announced::Anything);
        self.problem = None;
        self.still_unsaved(now);
    }

    /// Holds what the gateway has against the base and the user's text.
    fn compare(&mut self, remote: Known, now: Instant) {
        let has_unsaved = self.has_unsaved();
        let is_sent = |sent: &mut String| remote.exists() && normalise(sent) == remote.text;
        if self.unconfirmed.take_if(is_sent).is_some() {
            // The save whose answer was lost did happen; what was typed since grew from it.
            self.base = remote;
            self.problem = None;
            self.remote = None;
        } else if !has_unsaved || normalise(&self.text) == remote.text && remote.exists() {
            self.unconfirmed = None;
            self.replace_text(remote.text.clone());
            self.base = remote;
            self.remote = None;
            self.marks.clear();
            self.forget_failed_save();
        } else if remote.text == self.base.text && remote.exists() == self.base.exists() {
            self.base = remote;
            self.remote = None;
        } else {
            // The gateway is past the version that the lost save was based on: it would be refused by now.
            self.unconfirmed = None;
            self.remote = Some(remote);
        }
        self.still_unsaved(now);
    }

    /// What could not be saved is not wanted any more, or is to be tried anew.
    fn forget_failed_save(&mut self) {
        self.problem.take_if(|problem| problem.of == Attempt::Save);
    }

    /// Sees to it that an unsaved text is saved some time, and a saved one is not.
    fn still_unsaved(&mut self, now: Instant) {
        if !self.has_unsaved() {
            self.due = None;
        } else if self.due.is_none() {
            self.due = Some(Due { at: now, reason: SaveReason::Autosave });
        }
    }

    /// Drops an announcement of what is known already.
    fn forget_announced(&mut self) {
        let known = self.remote.as_ref().unwrap_or(&self.base);
        let is_known = match self.announced {
            Some(Announced::Version(version)) => version <= known.version,
            Some(Announced::Archived) => !known.exists(),
            Some(Announced::Anything) | None => false,
        };
        if is_known {
            self.announced = None;
        }
    }

    /// When something that failed may be tried again; outer none: it did not fail, inner none: not by itself.
    fn retry_of(&self, of: Attempt) -> Option<Option<Instant>> {
        self.problem.as_ref().filter(|problem| problem.of == of).map(|problem| problem.retries_at)
    }

    fn may_save(&self) -> bool {
        self.is_loaded
            && self.remote.is_none()
            && self.has_unsaved()
            && !self.has_marks()
            && !self.is_too_long()
    }

    /// Whether a gateway would refuse the text; one that is far too long would cost the connection.
    fn is_too_long(&self) -> bool {
        normalise(&self.text).len() > MAX_DOCUMENT_BYTES
    }

    fn has_marks(&self) -> bool {
        self.marks.iter().any(|marks| marks.are_in(&self.text))
    }

    fn is_saving(&self) -> bool {
        self.under_way.as_ref().is_some_and(|under_way| matches!(under_way.asked, Asked::Save { .. }))
    }

    fn replace_text(&mut self, text: String) {
        if self.text != text {
            self.text = text;
            self.text_epoch += 1;
        }
    }
}
