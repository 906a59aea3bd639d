//! Log of sent and acknowledged saves, and its comparison with the database.

use std::collections::{BTreeMap, HashSet};
use std::time::Instant;

use anyhow::{Context as _, bail, ensure};
use client::Client;
use protocol::method::{DocumentHistory, DocumentHistoryParams, DocumentRevision, DocumentRevisionParams};
use protocol::{ContentHash, Version, WorkspaceId};

use crate::torture::writer::WriterKind;
use crate::torture::{SavedScope, TortureReport};

/// Page size for reading the history.
const PAGE: u32 = 500;
/// One in this many revisions is read with its text.
// The history has the digests of all versions. Reading a sample of the texts shows that the stored texts belong to
// them, and reading all would take longer than the run.
const SAMPLE: u64 = 50;

/// Log of one writer.
pub(crate) struct Log {
    place: SavedScope,
    kind: WriterKind,
    /// All texts sent, acknowledged or not.
    pub(crate) sent: HashSet<ContentHash>,
    acknowledged: BTreeMap<Version, ContentHash>,
    /// Saves without an answer, or with an answer to retry.
    pub(crate) interruptions: u64,
    /// Number of answers of any kind, and the time of the last one.
    pub(crate) answers: u64,
    pub(crate) last_answer: Option<Instant>,
}

impl Log {
    pub(crate) fn new(place: SavedScope, kind: WriterKind) -> Self {
        Self {
            place,
            kind,
            sent: HashSet::new(),
            acknowledged: BTreeMap::new(),
            interruptions: 0,
            answers: 0,
            last_answer: None,
        }
    }

    pub(crate) fn count_answer(&mut self) {
        self.answers += 1;
        self.last_answer = Some(Instant::now());
    }

    /// Records that a gateway acknowledged a text as a version.
    pub(crate) fn acknowledge(&mut self, version: Version, hash: ContentHash) -> anyhow::Result<()> {
        let before = self.acknowledged.insert(version, hash.clone());
        // An owning writer sends the same save again after a lost answer, and may receive the old answer for it.
        let repeated = self.kind == WriterKind::Owning && before.as_ref() == Some(&hash);
        ensure!(before.is_none() || repeated, "version {version} of {:?} was acknowledged twice", self.place);
        Ok(())
    }

    /// Returns the newest acknowledged version.
    pub(crate) fn newest(&self) -> Version {
        self.acknowledged.keys().next_back().copied().unwrap_or(Version(0))
    }
}

#[derive(Default)]
struct LedgerDocument {
    sent: HashSet<ContentHash>,
    acknowledged: BTreeMap<Version, ContentHash>,
}

/// Logs of all writers by document.
#[derive(Default)]
pub(crate) struct Ledger {
    documents: BTreeMap<SavedScope, LedgerDocument>,
    interruptions: u64,
    /// Number of stored revisions by workspace.
    revisions: BTreeMap<WorkspaceId, u64>,
}

impl Ledger {
    pub(crate) fn add(&mut self, log: Log) -> anyhow::Result<()> {
        self.interruptions += log.interruptions;
        let document = self.documents.entry(log.place.clone()).or_default();
        document.sent.extend(log.sent);
        for (version, hash) in log.acknowledged {
            let before = document.acknowledged.insert(version, hash);
            ensure!(before.is_none(), "two writers received version {version} of {:?}", log.place);
        }
        Ok(())
    }

    pub(crate) fn revisions_of(&self, workspace_id: &WorkspaceId) -> u64 {
        self.revisions.get(workspace_id).copied().unwrap_or(0)
    }

    /// Checks that every acknowledged save is stored under its version, every stored text was sent, nothing is stored
    /// twice, and no version is missing.
    pub(crate) async fn check(&mut self, client: &Client, report: &mut TortureReport) -> anyhow::Result<()> {
        for (place, document) in &self.documents {
            let stored = history(client, place).await?;
            document.check(&stored).with_context(|| format!("{place:?}"))?;
            for (version, hash) in (1..).map(Version).zip(&stored) {
                // The newest version is always read, because it was written closest to the last fault.
                if version.0 % SAMPLE == 0 || version.0 == stored.len() as u64 {
                    let text = text_of(client, place, version).await?;
                    ensure!(&ContentHash::of(&text) == hash, "{place:?}: version {version} has another text");
                }
            }
            report.acknowledged += document.acknowledged.len() as u64;
            report.stored += stored.len() as u64;
            *self.revisions.entry(place.workspace_id.clone()).or_default() += stored.len() as u64;
        }
        report.documents = self.documents.len();
        report.interruptions = self.interruptions;
        Ok(())
    }
}

impl LedgerDocument {
    /// Compares the log with the stored texts, starting at version 1.
    fn check(&self, stored: &[ContentHash]) -> anyhow::Result<()> {
        let mut seen = HashSet::new();
        for (version, hash) in (1..).map(Version).zip(stored) {
            // Compared with what was sent and not with what was acknowledged: a save whose answer was lost may be
            // stored.
            ensure!(self.sent.contains(hash), "version {version} has a text that was never sent");
            ensure!(seen.insert(hash), "version {version} was saved before");
        }
        for (version, hash) in &self.acknowledged {
            match usize::try_from(version.0 - 1).ok().and_then(|index| stored.get(index)) {
                Some(there) if there == hash => {}
                Some(_) => bail!("version {version} was acknowledged with another text"),
                None => bail!("version {version} was acknowledged and is lost"),
            }
        }
        Ok(())
    }
}

/// Returns the digests of all versions, starting at version 1. Fails if one is missing.
async fn history(client: &Client, place: &SavedScope) -> anyhow::Result<Vec<ContentHash>> {
    let mut newest_first = Vec::new();
    let mut before = None;
    loop {
        let params = DocumentHistoryParams {
            workspace_id: place.workspace_id.clone(),
            folder_id: Some(place.folder_id.clone()),
            limit: Some(PAGE),
            before,
        };
        let page = client.call::<DocumentHistory>(&params).await?.revisions;
        let Some(last) = page.last() else { break };
        before = Some(last.version);
        newest_first.extend(page.into_iter().map(|revision| (revision.version, revision.content_sha256)));
    }
    let mut hashes = Vec::new();
    for (expected, (version, hash)) in (1..).map(Version).zip(newest_first.into_iter().rev()) {
        ensure!(version == expected, "{place:?}: version {expected} is missing, {version} comes next");
        hashes.push(hash);
    }
    Ok(hashes)
}

async fn text_of(client: &Client, place: &SavedScope, version: Version) -> anyhow::Result<String> {
    let params = DocumentRevisionParams {
        workspace_id: place.workspace_id.clone(),
        folder_id: Some(place.folder_id.clone()),
        version,
    };
    Ok(client.call::<DocumentRevision>(&params).await?.revision.content)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(acknowledged: &[(u64, &str)], stored: &[&str]) -> String {
        let sent = ["a", "b", "c"].map(ContentHash::of).into();
        let acknowledged =
            acknowledged.iter().map(|(version, text)| (Version(*version), ContentHash::of(text))).collect();
        let stored: Vec<_> = stored.iter().map(ContentHash::of).collect();
        let checked = LedgerDocument { sent, acknowledged }.check(&stored);
        checked.map_or_else(|error| error.to_string(), |()| "holds".to_owned())
    }

    #[test]
    fn lost_duplicate_altered_and_invented_saves_are_detected() {
        assert_eq!(check(&[(1, "a"), (3, "c")], &["a", "b", "c"]), "holds");
        assert_eq!(check(&[(1, "a"), (3, "c")], &["a", "b"]), "version 3 was acknowledged and is lost");
        assert_eq!(check(&[(1, "a")], &["b", "a"]), "version 1 was acknowledged with another text");
        assert_eq!(check(&[(1, "a")], &["a", "b", "a"]), "version 3 was saved before");
        assert_eq!(check(&[(1, "a")], &["a", "d"]), "version 2 has a text that was never sent");
    }
}
