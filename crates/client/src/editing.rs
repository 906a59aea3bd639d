//! State machine for editing one document: saves, drafts and conflicts with other editors.
//!
//! The machine is pure: it holds no connection, reads no clock and draws nothing. Its owner feeds it the user's edits, the
//! gateway's answers and announcements, and the time; [`Editing::poll`] returns the next request. At most one request is
//! in flight. [`Editing::disconnected`] abandons it; requests are numbered, so a late answer to an abandoned request is
//! not mistaken for an answer to the next one.
//!
//! It keeps three texts: the *base* is the last text confirmed by the gateway that the user's text derives from, the *text*
//! is what the user sees, and the *remote* is a conflicting text on the gateway. User input is never lost: the text only
//! changes when the user edits it, when the user resolves a conflict, or while it equals the base.

mod draft;
mod resolution;
mod status;

use std::time::{Duration, Instant};

use protocol::limits::{MAX_DOCUMENT_BYTES, PROMPT_DOCUMENT_CHARACTERS};
use protocol::text::normalise;
use protocol::{Document, DocumentSummary, SaveReason, Version};

use crate::{Failure, Marks, RequestNumber, backoff};

pub use draft::{DraftChange, LocalDraft};
pub use status::{CharacterCount, EditingStatus};

/// Delay between the last edit and an automatic save.
pub const AUTOSAVE_AFTER: Duration = Duration::from_millis(700);

/// A request to the gateway and the number to report its result with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EditingRequest {
    /// Number of the request.
    pub number: RequestNumber,
    /// Method to call.
    pub call: EditingCall,
}

/// A call to the gateway.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EditingCall {
    /// Save a text.
    Save(Save),
    /// Fetch the scope's own document.
    Fetch,
}

/// A text to save.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Save {
    /// The full text.
    pub content: String,
    /// Version that the text is based on.
    pub expected_version: Version,
    /// Reason recorded for the save.
    pub reason: SaveReason,
}

/// Text and version of a scope. Version 0 means that there is no document.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct KnownText {
    text: String,
    version: Version,
}

impl KnownText {
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

/// A request without an answer.
#[derive(Debug, Clone)]
struct InFlight {
    number: RequestNumber,
    asked: Sent,
}

#[derive(Debug, Clone)]
enum Sent {
    Save { text: String },
    Fetch,
}

/// Newer state of the gateway's document, known from a notification.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Announced {
    /// A newer version exists.
    Version(Version),
    /// The document was archived.
    Archived,
    /// The state is unknown: the connection was lost, or the document was never loaded.
    Anything,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Attempt {
    Save,
    Fetch,
}

/// Time and reason of the next save.
#[derive(Debug, Clone, Copy)]
struct ScheduledSave {
    at: Instant,
    reason: SaveReason,
}

/// Last failure. Saves and fetches fail for different reasons: a user without write access can still follow the document.
#[derive(Debug, Clone)]
struct Problem {
    of: Attempt,
    message: String,
    attempts: u32,
    retries_at: Option<Instant>,
}

/// State of one edited document.
#[derive(Debug, Clone)]
pub struct Editing {
    text: String,
    /// Number of times the text was replaced by anything but the user's edits.
    text_epoch: u64,
    base: KnownText,
    /// Conflicting text of the gateway.
    remote: Option<KnownText>,
    is_loaded: bool,
    is_offline: bool,
    /// Conflict markers of accepted merges that may still be in the text.
    marks: Vec<Marks>,
    in_flight: Option<InFlight>,
    /// Number of the last request.
    last_request: RequestNumber,
    /// Text of a save without an answer: it may have succeeded, failed, or still be on its way. It is kept until a later
    /// save is answered or the text appears on the gateway.
    unconfirmed: Option<String>,
    announced: Option<Announced>,
    due: Option<ScheduledSave>,
    problem: Option<Problem>,
    /// Draft that the owner was last given.
    reported_draft: Option<LocalDraft>,
}

impl Editing {
    /// Starts with the scope's own document, or with an empty text.
    pub fn new(document: Option<&Document>) -> Self {
        let base = KnownText::of(document);
        Self {
            text: base.text.clone(),
            text_epoch: 0,
            base,
            remote: None,
            is_loaded: true,
            is_offline: false,
            marks: Vec::new(),
            in_flight: None,
            last_request: RequestNumber::default(),
            unconfirmed: None,
            announced: None,
            due: None,
            problem: None,
            reported_draft: None,
        }
    }

    /// Starts before the document is loaded, with a draft of an earlier run if there is one. The document is fetched first.
    pub fn open(draft: Option<LocalDraft>) -> Self {
        // `Anything` makes the first `poll` fetch the document, and `is_loaded` keeps the draft from being saved
        // before the gateway's current version is known.
        let mut editing = Self { is_loaded: false, announced: Some(Announced::Anything), ..Self::new(None) };
        if let Some(draft) = draft {
            editing.base = KnownText { text: draft.base_text.clone(), version: draft.base_version };
            editing.text.clone_from(&draft.text);
            editing.marks.clone_from(&draft.marks);
            // The earlier run may have sent this text right before it ended. Treating it as unconfirmed lets `compare`
            // recognize it in the fetched document instead of reporting a conflict with our own save.
            editing.unconfirmed = Some(draft.text.clone());
            editing.reported_draft = Some(draft);
        }
        editing
    }

    /// Returns the text that the user sees.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns a counter that increases whenever [`text`](Self::text) changes other than by [`edit`](Self::edit). A view
    /// must then redraw the text.
    pub fn text_epoch(&self) -> u64 {
        self.text_epoch
    }

    /// Returns the last confirmed text that the user's text derives from.
    pub fn base(&self) -> &str {
        &self.base.text
    }

    /// Returns the version of the base, or 0 if there was no document.
    pub fn version(&self) -> Version {
        self.base.version
    }

    /// Returns the gateway's text during a conflict. The inner `None` means that the document was archived.
    pub fn remote(&self) -> Option<Option<&str>> {
        self.remote.as_ref().map(|remote| remote.exists().then_some(remote.text.as_str()))
    }

    /// Returns true if the text differs from the last confirmed one.
    pub fn has_unsaved(&self) -> bool {
        // The gateway stores normalized text, so a difference in line endings alone is not an edit.
        normalise(&self.text) != self.base.text
    }

    /// Returns true if nothing is unsaved, in conflict or in flight.
    pub fn is_settled(&self) -> bool {
        self.in_flight.is_none() && self.remote.is_none() && !self.has_unsaved() && self.unconfirmed.is_none()
    }

    /// Returns the length of the text.
    pub fn characters(&self) -> CharacterCount {
        CharacterCount { count: self.text.chars().count(), limit: PROMPT_DOCUMENT_CHARACTERS }
    }

    /// Returns the status to show to the user.
    pub fn status(&self) -> EditingStatus {
        // A conflict comes first, because only the user can end it. Being offline comes before failures, because
        // it explains them.
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

    /// Replaces the text after a user edit.
    pub fn edit(&mut self, text: impl Into<String>, now: Instant) {
        let text = text.into();
        // A view may report the text that it was just given. Such an echo must not schedule a save.
        if text == self.text {
            return;
        }
        self.text = text;
        self.marks.retain(|marks| marks.are_in(&self.text));
        // Typing exactly the gateway's text resolves the conflict.
        if let Some(remote) = self.remote.take_if(|remote| normalise(&self.text) == remote.text) {
            self.base = remote;
        }
        if !self.has_unsaved() {
            // A rejected save no longer matters once the user has undone the edit.
            self.drop_failed_save();
        }
        self.due = Some(ScheduledSave { at: now + AUTOSAVE_AFTER, reason: SaveReason::Autosave });
        // A permanent failure belongs to the previous text, so the new one deserves another attempt.
        if self.problem.as_ref().is_some_and(|problem| problem.retries_at.is_none()) {
            self.problem = None;
        }
    }

    /// Schedules an immediate save because the user leaves the document.
    pub fn leave(&mut self, now: Instant) {
        // Leaving only brings a scheduled save forward and keeps its reason: a manual save must not turn into an
        // autosave.
        if self.has_unsaved() && self.due.is_none_or(|due| due.at > now) {
            let reason = self.due.map_or(SaveReason::Autosave, |due| due.reason);
            self.due = Some(ScheduledSave { at: now, reason });
        }
    }

    /// Saves now on the user's request, even after a failure or with conflict markers in the text.
    pub fn save(&mut self, now: Instant) {
        // An explicit save is also the way to accept a text with conflict markers, so they are no longer tracked.
        self.marks.clear();
        self.problem = None;
        if self.has_unsaved() {
            self.due = Some(ScheduledSave { at: now, reason: SaveReason::Manual });
        }
    }

    /// Retries a failed request. Unlike [`save`](Self::save), it does not save a text with conflict markers.
    pub fn retry(&mut self, now: Instant) {
        self.problem = None;
        if self.has_unsaved() {
            self.due = Some(ScheduledSave { at: now, reason: SaveReason::Manual });
        }
    }

    /// Returns the next request for the gateway.
    pub fn poll(&mut self, now: Instant) -> Option<EditingRequest> {
        // One request at a time: every answer is compared with the base that its request was made from.
        if self.is_offline || self.in_flight.is_some() {
            return None;
        }
        // An announced change is fetched before anything is saved, because a save with an outdated base would only
        // be answered with a conflict.
        if self.announced.is_some() {
            if self.retry_of(Attempt::Fetch).is_some_and(|at| at.is_none_or(|at| at > now)) {
                return None;
            }
            self.announced = None;
            return Some(self.request(Sent::Fetch, EditingCall::Fetch));
        }
        if self.retry_of(Attempt::Save).is_some_and(|at| at.is_none_or(|at| at > now)) {
            return None;
        }
        let due = self.due.filter(|due| due.at <= now && self.may_save())?;
        // An edit during the save schedules the next one, so the newer text is not forgotten.
        self.due = None;
        let content = self.text.clone();
        let expected_version = self.base.version;
        let asked = Sent::Save { text: content.clone() };
        Some(self.request(asked, EditingCall::Save(Save { content, expected_version, reason: due.reason })))
    }

    fn request(&mut self, asked: Sent, call: EditingCall) -> EditingRequest {
        let number = self.last_request.next();
        self.in_flight = Some(InFlight { number, asked });
        EditingRequest { number, call }
    }

    /// Takes the text of the save with this number. `None` if it was abandoned or is another request.
    fn take_save(&mut self, number: RequestNumber) -> Option<String> {
        // An abandoned request may be answered late, so the number must match, not only the kind of request.
        let is_it = |it: &mut InFlight| it.number == number && matches!(it.asked, Sent::Save { .. });
        match self.in_flight.take_if(is_it)?.asked {
            Sent::Save { text } => Some(text),
            Sent::Fetch => None,
        }
    }

    /// Returns the time of the next [`poll`](Self::poll) if nothing happens before.
    pub fn wake_at(&self) -> Option<Instant> {
        // The answer or the next connection leads to the next `poll`; a timer would wake the owner for nothing.
        if self.is_offline || self.in_flight.is_some() {
            return None;
        }
        if self.announced.is_some() {
            return self.retry_of(Attempt::Fetch).flatten();
        }
        let due = self.due.filter(|_| self.may_save())?.at;
        // A permanent failure has no retry time and thus no timer. Otherwise both the pause after typing and the
        // backoff must have passed.
        match self.retry_of(Attempt::Save) {
            None => Some(due),
            Some(retry) => Some(retry?.max(due)),
        }
    }

    /// Reports a successful save.
    pub fn saved(&mut self, number: RequestNumber, document: &Document, now: Instant) {
        let Some(text) = self.take_save(number) else { return };
        self.problem = None;
        self.unconfirmed = None;
        self.base = KnownText::of(Some(document));
        if self.text == text {
            // The gateway may have normalized line endings. Adopt its text only if the user has not typed since, because
            // replacing it later would discard input.
            self.replace_text(document.content.clone());
        }
        // The announcement of this very save may have arrived before its answer.
        self.drop_announced();
        self.reschedule_save(now);
    }

    /// Reports a conflict: the document was saved elsewhere first.
    pub fn conflicted(&mut self, number: RequestNumber, current: Option<&Document>, now: Instant) {
        if self.take_save(number).is_none() {
            return;
        }
        self.problem = None;
        self.compare(KnownText::of(current), now);
        self.drop_announced();
    }

    /// Reports the fetched document.
    pub fn fetched(&mut self, number: RequestNumber, document: Option<&Document>, now: Instant) {
        let is_it = |it: &mut InFlight| it.number == number && matches!(it.asked, Sent::Fetch);
        if self.in_flight.take_if(is_it).is_none() {
            return;
        }
        // A failed save remains a problem: a user without write access can still fetch the document.
        self.problem.take_if(|problem| problem.of == Attempt::Fetch);
        self.is_loaded = true;
        self.compare(KnownText::of(document), now);
        self.drop_announced();
    }

    /// Reports a failed request other than a conflict. An unsaved text stays scheduled.
    pub fn failed(&mut self, number: RequestNumber, failure: Failure, now: Instant) {
        let Some(in_flight) = self.in_flight.take_if(|it| it.number == number) else { return };
        let of = match in_flight.asked {
            Sent::Fetch => {
                self.announced = Some(Announced::Anything);
                Attempt::Fetch
            }
            Sent::Save { text } => {
                if failure.is_outcome_unknown {
                    // If this save did succeed, the next one would conflict with our own text, so fetch first.
                    self.unconfirmed = Some(text);
                    self.announced = Some(Announced::Anything);
                }
                // `poll` has cleared the schedule, so restore it unless the user has typed since.
                self.due.get_or_insert(ScheduledSave { at: now, reason: SaveReason::Autosave });
                Attempt::Save
            }
        };
        // Consecutive failures of the same kind lengthen the pause; a failure of the other kind starts over.
        let before = self.problem.take_if(|problem| problem.of == of);
        let attempts = before.map_or(0, |problem| problem.attempts) + 1;
        let retries_at = failure.is_transient.then(|| now + backoff::pause(attempts));
        self.problem = Some(Problem { of, message: failure.message, attempts, retries_at });
    }

    /// Reports an announced change of the scope's document. `None` means that it was archived.
    pub fn remote_changed(&mut self, summary: Option<&DocumentSummary>) {
        let announced = match summary {
            Some(summary) => Announced::Version(summary.version),
            None => Announced::Archived,
        };
        // `Anything` already causes a fetch, and knowing one version would not make that fetch unnecessary.
        self.announced = match self.announced {
            Some(Announced::Anything) => Some(Announced::Anything),
            _ => Some(announced),
        };
        // The answer to a request in flight may bring this version, so the announcement is judged after it.
        if self.in_flight.is_none() {
            self.drop_announced();
        }
    }

    /// Reports the loss of the connection. The request in flight is abandoned.
    pub fn disconnected(&mut self) {
        self.is_offline = true;
        // The gateway may have executed the abandoned save. Its text is kept until the fetched document shows the
        // outcome.
        match self.in_flight.take().map(|in_flight| in_flight.asked) {
            Some(Sent::Save { text }) => self.unconfirmed = Some(text),
            Some(Sent::Fetch) => self.announced = Some(Announced::Anything),
            None => {}
        }
    }

    /// Reports a new connection. The document is fetched before anything is saved.
    pub fn reconnected(&mut self, now: Instant) {
        self.is_offline = false;
        // Changes announced while the connection was lost were never received.
        self.announced = Some(Announced::Anything);
        self.problem = None;
        self.reschedule_save(now);
    }

    /// Reconciles the gateway's document with the base and the user's text.
    fn compare(&mut self, remote: KnownText, now: Instant) {
        let has_unsaved = self.has_unsaved();
        // A missing document has an empty text, which must not be mistaken for the confirmation of a saved empty
        // text.
        let is_sent = |sent: &mut String| remote.exists() && normalise(sent) == remote.text;
        if self.unconfirmed.take_if(is_sent).is_some() {
            // The unanswered save did succeed, so later edits are based on it.
            self.base = remote;
            self.problem = None;
            self.remote = None;
        } else if !has_unsaved || normalise(&self.text) == remote.text && remote.exists() {
            // The user has nothing to lose here, so the gateway's document is adopted silently.
            self.unconfirmed = None;
            self.replace_text(remote.text.clone());
            self.base = remote;
            self.remote = None;
            self.marks.clear();
            self.drop_failed_save();
        } else if remote.text == self.base.text && remote.exists() == self.base.exists() {
            // Only the version has moved on, for example because another user reverted a change. The edits still
            // apply.
            self.base = remote;
            self.remote = None;
        } else {
            // The gateway has moved past the version that the lost save was based on, so that save can no longer succeed.
            self.unconfirmed = None;
            self.remote = Some(remote);
        }
        self.reschedule_save(now);
    }

    /// Clears a save failure that no longer matters.
    fn drop_failed_save(&mut self) {
        self.problem.take_if(|problem| problem.of == Attempt::Save);
    }

    /// Schedules a save if the text is unsaved, and cancels it otherwise.
    fn reschedule_save(&mut self, now: Instant) {
        // A save that is already scheduled keeps its time, because an answer must not cut the pause after typing
        // short.
        if !self.has_unsaved() {
            self.due = None;
        } else if self.due.is_none() {
            self.due = Some(ScheduledSave { at: now, reason: SaveReason::Autosave });
        }
    }

    /// Drops an announcement of a version that is already known.
    fn drop_announced(&mut self) {
        // During a conflict the remote text is the newest known version, not the base.
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

    /// Returns the retry time of a failed attempt. `None` if it did not fail, `Some(None)` if it is not retried automatically.
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

    /// Returns true if the gateway would reject the text. A message far over the limit would even close the connection.
    fn is_too_long(&self) -> bool {
        normalise(&self.text).len() > MAX_DOCUMENT_BYTES
    }

    fn has_marks(&self) -> bool {
        self.marks.iter().any(|marks| marks.are_in(&self.text))
    }

    fn is_saving(&self) -> bool {
        self.in_flight.as_ref().is_some_and(|in_flight| matches!(in_flight.asked, Sent::Save { .. }))
    }

    fn replace_text(&mut self, text: String) {
        // Views redraw on every new epoch, so it grows only if the text really changed.
        if self.text != text {
            self.text = text;
            self.text_epoch += 1;
        }
    }
}
