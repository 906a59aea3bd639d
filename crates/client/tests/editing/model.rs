//! A gateway's document of one scope, in memory.

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

/// One scope: its document, its versions, and what was announced of it.
#[derive(Debug, Default)]
pub(crate) struct Scope {
    version: u64,
    pub(crate) current: Option<Document>,
    /// Every text that was ever saved.
    pub(crate) revisions: Vec<String>,
    /// The document after each change; none: archived.
    pub(crate) log: Vec<Option<Document>>,
}

impl Scope {
    /// The rules of the contract: identical text is no change, a version that is not the current one is a conflict.
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
