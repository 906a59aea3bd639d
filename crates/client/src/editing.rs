//! The state of editing one document: what is saved, what is not, and what to do when somebody else saved.
//!
//! Pure: it holds no connection and draws nothing. Whoever owns it feeds it what the user typed and what the
//! gateway answered, and asks it what to send next. At most one save is under way.

use protocol::{Document, SaveReason, Version};

/// What to send to the gateway.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Save {
    /// The text.
    pub content: String,
    /// The version it is based on.
    pub expected_version: Version,
    /// Why it is saved.
    pub reason: SaveReason,
}

/// The state of an edited document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EditingState {
    /// What the user sees is what the gateway has.
    Clean,
    /// There is something to save.
    Dirty,
    /// A save is under way.
    Saving,
    /// Somebody else saved first; the user has to choose.
    Conflict {
        /// The document as the gateway has it; none when it was archived.
        theirs: Option<Box<Document>>,
    },
}

/// One document being edited.
#[derive(Debug, Clone)]
pub struct Editing {
    /// The text the user sees.
    text: String,
    /// The text the gateway last confirmed.
    saved: String,
    /// The version of that text; 0 when there is no document yet.
    version: Version,
    /// The text of the save that is under way.
    sent: Option<String>,
    theirs: Option<Option<Box<Document>>>,
}

impl Editing {
    /// Starts with a scope's own document, or with nothing.
    pub fn new(document: Option<&Document>) -> Self {
        let text = document.map(|document| document.content.clone()).unwrap_or_default();
        let version = document.map_or(Version(0), |document| document.version);
        Self { saved: text.clone(), text, version, sent: None, theirs: None }
    }

    /// The text the user sees.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The version the text is based on.
    pub fn version(&self) -> Version {
        self.version
    }

    /// The state of the document.
    pub fn state(&self) -> EditingState {
        match &self.theirs {
            Some(theirs) => EditingState::Conflict { theirs: theirs.clone() },
            None if self.sent.is_some() => EditingState::Saving,
            None if self.text == self.saved => EditingState::Clean,
            None => EditingState::Dirty,
        }
    }

    /// The user changed the text.
    pub fn edit(&mut self, text: impl Into<String>) {
        self.text = text.into();
    }

    /// What to send, if there is something to save and nothing prevents it.
    pub fn save(&mut self, reason: SaveReason) -> Option<Save> {
        if self.state() != EditingState::Dirty {
            return None;
        }
        self.sent = Some(self.text.clone());
        Some(Save { content: self.text.clone(), expected_version: self.version, reason })
    }

    /// The gateway saved.
    pub fn saved(&mut self, document: &Document) {
        // The gateway may have normalised line ends; what the user has not touched since follows it.
        if self.sent.take().as_deref() == Some(self.text.as_str()) {
            self.text = document.content.clone();
        }
        self.saved = document.content.clone();
        self.version = document.version;
    }

    /// The gateway said that somebody else saved first.
    pub fn conflicted(&mut self, theirs: Option<Box<Document>>) {
        self.sent = None;
        // Somebody saved what we wanted to save: there is nothing to choose between.
        match theirs {
            Some(document) if document.content == self.text => {
                self.saved = document.content;
                self.version = document.version;
            }
            theirs => self.theirs = Some(theirs),
        }
    }

    /// The save failed for another reason; the text stays to be saved again.
    pub fn failed(&mut self) {
        self.sent = None;
    }

    /// The user keeps their own text: the next save replaces what the gateway has.
    pub fn keep_mine(&mut self) {
        if let Some(theirs) = self.theirs.take() {
            self.version = theirs.as_ref().map_or(Version(0), |document| document.version);
            self.saved = theirs.map(|document| document.content).unwrap_or_default();
        }
    }

    /// The user takes what the gateway has, and gives up their own text.
    pub fn take_theirs(&mut self) {
        self.keep_mine();
        self.text.clone_from(&self.saved);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use protocol::{ContentHash, DocumentStatus, Timestamp};

    fn document(version: u64, content: &str) -> Document {
        Document {
            id: "d".parse().unwrap(),
            workspace_id: "w".parse().unwrap(),
            folder_id: None,
            status: DocumentStatus::Active,
            title: "AGENTS.md".into(),
            content: content.into(),
            content_sha256: ContentHash::of(content),
            version: Version(version),
            char_count: content.len() as u64,
            created_at: Timestamp::from_milliseconds(0),
            updated_at: Timestamp::from_milliseconds(0),
            archived_at: None,
            created_by: None,
            updated_by: None,
        }
    }

    #[test]
    fn typing_during_a_save_is_saved_next() {
        let mut editing = Editing::new(None);
        editing.edit("a");
        let first = editing.save(SaveReason::Autosave).unwrap();
        assert_eq!((first.content.as_str(), first.expected_version), ("a", Version(0)));
        editing.edit("ab");
        assert_eq!(editing.save(SaveReason::Autosave), None, "one save at a time");
        editing.saved(&document(1, "a"));
        let second = editing.save(SaveReason::Autosave).unwrap();
        assert_eq!((second.content.as_str(), second.expected_version), ("ab", Version(1)));
        editing.saved(&document(2, "ab"));
        assert_eq!(editing.state(), EditingState::Clean);
    }

    #[test]
    fn a_conflict_keeps_both_texts_until_the_user_chooses() {
        let mut editing = Editing::new(Some(&document(3, "base")));
        editing.edit("mine");
        editing.save(SaveReason::Manual).unwrap();
        editing.conflicted(Some(Box::new(document(5, "theirs"))));
        assert!(matches!(editing.state(), EditingState::Conflict { .. }));
        assert_eq!(editing.save(SaveReason::Manual), None);
        let mut taken = editing.clone();
        taken.take_theirs();
        assert_eq!((taken.text(), taken.state()), ("theirs", EditingState::Clean));
        editing.keep_mine();
        let save = editing.save(SaveReason::Manual).unwrap();
        assert_eq!((save.content.as_str(), save.expected_version), ("mine", Version(5)));
    }

    #[test]
    fn somebody_else_saving_the_same_text_is_no_conflict() {
        let mut editing = Editing::new(Some(&document(1, "old")));
        editing.edit("new");
        editing.save(SaveReason::Manual).unwrap();
        editing.conflicted(Some(Box::new(document(2, "new"))));
        assert_eq!((editing.state(), editing.version()), (EditingState::Clean, Version(2)));
    }

    #[test]
    fn an_archived_document_is_made_anew_by_keeping_mine() {
        let mut editing = Editing::new(Some(&document(4, "old")));
        editing.edit("mine");
        editing.save(SaveReason::Manual).unwrap();
        editing.conflicted(None);
        editing.keep_mine();
        assert_eq!(editing.save(SaveReason::Manual).unwrap().expected_version, Version(0));
    }

    #[test]
    fn line_ends_follow_the_gateway() {
        let mut editing = Editing::new(None);
        editing.edit("a\r\n");
        editing.save(SaveReason::Manual).unwrap();
        editing.saved(&document(1, "a\n"));
        assert_eq!((editing.text(), editing.state()), ("a\n", EditingState::Clean));
    }

    #[test]
    fn a_failed_save_loses_nothing() {
        let mut editing = Editing::new(None);
        editing.edit("a");
        editing.save(SaveReason::Manual).unwrap();
        editing.failed();
        assert!(editing.save(SaveReason::Manual).is_some());
    }
}
