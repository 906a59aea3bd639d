//! What was sent and acknowledged, and the check of what is there.

use std::collections::{BTreeMap, HashSet};
use std::time::Instant;

use anyhow::{Context as _, bail, ensure};
use client::Client;
use protocol::method::{DocumentHistory, DocumentHistoryParams, DocumentRevision, DocumentRevisionParams};
use protocol::{ContentHash, Version, WorkspaceId};

use crate::torture::writer::Kind;
use crate::torture::{Report, SavedScope};

/// History is read in pages of so many.
const PAGE: u32 = 500;
/// Of so many revisions, the text of one is read, too.
const SAMPLE: u64 = 50;

/// What one writer sent, and what it was told.
pub(crate) struct Log {
    place: SavedScope,
    kind: Kind,
    /// Everything that was sent, acknowledged or not.
    pub(crate) sent: HashSet<ContentHash>,
    acknowledged: BTreeMap<Version, ContentHash>,
    /// Times that the writer got no answer, or was told to try again.
    pub(crate) interruptions: u64,
    /// Calls that were answered in whatever way, and when the last one was.
    pub(crate) answers: u64,
    pub(crate) last_answer: Option<Instant>,
}

impl Log {
    pub(crate) fn new(place: SavedScope, kind: Kind) -> Self {
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

    /// A gateway said that a text became a version.
    pub(crate) fn acknowledge(&mut self, version: Version, hash: ContentHash) -> anyhow::Result<()> {
        let before = self.acknowledged.insert(version, hash.clone());
        let repeated = self.kind == Kind::Owning && before.as_ref() == Some(&hash);
        ensure!(before.is_none() || repeated, "version {version} of {:?} was given twice", self.place);
        Ok(())
    }

    /// The newest version that was acknowledged.
    pub(crate) fn newest(&self) -> Version {
        self.acknowledged.keys().next_back().copied().unwrap_or(Version(0))
    }
}

#[derive(Default)]
struct Document {
    sent: HashSet<ContentHash>,
    acknowledged: BTreeMap<Version, ContentHash>,
}

/// The logs of all writers, by document.
#[derive(Default)]
pub(crate) struct Ledger {
    documents: BTreeMap<SavedScope, Document>,
    interruptions: u64,
    /// Revisions that are there, by workspace.
    revisions: BTreeMap<WorkspaceId, u64>,
}

impl Ledger {
    pub(crate) fn add(&mut self, log: Log) -> anyhow::Result<()> {
        self.interruptions += log.interruptions;
        let document = self.documents.entry(log.place.clone()).or_default();
        document.sent.extend(log.sent);
        for (version, hash) in log.acknowledged {
            let before = document.acknowledged.insert(version, hash);
            ensure!(before.is_none(), "two writers were given version {version} of {:?}", log.place);
        }
        Ok(())
    }

    pub(crate) fn revisions_of(&self, workspace_id: &WorkspaceId) -> u64 {
        self.revisions.get(workspace_id).copied().unwrap_or(0)
    }

    /// Everything acknowledged is there as the version it was said to be, everything there was sent, nothing is there twice,
    /// and no version is missing.
    pub(crate) async fn check(&mut self, client: &Client, report: &mut Report) -> anyhow::Result<()> {
        for (place, document) in &self.documents {
            let stored = history(client, place).await?;
            document.check(&stored).with_context(|| format!("{place:?}"))?;
            for (version, hash) in (1..).map(Version).zip(&stored) {
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

impl Document {
    /// Holds the log against the texts that are there, from version 1 on.
    fn check(&self, stored: &[ContentHash]) -> anyhow::Result<()> {
        let mut seen = HashSet::new();
        for (version, hash) in (1..).map(Version).zip(stored) {
            ensure!(self.sent.contains(hash), "nobody sent what version {version} has");
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

/// The digests of all versions, from version 1 on; none may be missing.
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
        let checked = Document { sent, acknowledged }.check(&stored);
        checked.map_or_else(|error| error.to_string(), |()| "holds".to_owned())
    }

    #[test]
    fn what_is_lost_doubled_altered_or_invented_is_found() {
        assert_eq!(check(&[(1, "a"), (3, "c")], &["a", "b", "c"]), "holds");
        assert_eq!(check(&[(1, "a"), (3, "c")], &["a", "b"]), "version 3 was acknowledged and is lost");
        assert_eq!(check(&[(1, "a")], &["b", "a"]), "version 1 was acknowledged with another text");
        assert_eq!(check(&[(1, "a")], &["a", "b", "a"]), "version 3 was saved before");
        assert_eq!(check(&[(1, "a")], &["a", "d"]), "nobody sent what version 2 has");
    }
}
