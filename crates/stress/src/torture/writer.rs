//! Clients that save continuously and log every answer.

use parking_lot::Mutex;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use client::{Client, ClientError, Target};
use futures_util::future::join_all;
use protocol::error::InternalReason;
use protocol::method::{DocumentGet, DocumentSave, DocumentSaveParams, DocumentScopeParams};
use protocol::{ContentHash, ErrorKind, SaveReason, Version};
use tokio::sync::watch;

use crate::torture::ledger::Log;
use crate::torture::progress::Progress;
use crate::torture::{PATIENCE, SavedScope};

/// Saves sent before the first answer is awaited.
// Several saves are on the way at any time, so that a kill hits some that are received, written or acknowledged.
const BATCH: u64 = 16;
/// Time after which an owning writer switches to another gateway.
const IMPATIENCE: Duration = Duration::from_secs(5);
/// Pause before a retry.
const PAUSE: Duration = Duration::from_millis(50);

/// Behavior of a writer without an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WriterKind {
    /// Waits for its gateway, then overwrites the document with a new text. Each text is sent once, so it is stored
    /// once or not at all.
    Sharing,
    /// Sends the same text for the same version to the next gateway. Each text is stored exactly once, no matter how
    /// often it was sent, even if a frozen gateway processes it later.
    Owning,
}

/// Result of a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum BatchOutcome {
    Saved,
    /// At least one save was not acknowledged.
    Failed,
}

pub(crate) struct Writer {
    pub(crate) name: String,
    pub(crate) kind: WriterKind,
    pub(crate) place: SavedScope,
    pub(crate) targets: Vec<Target>,
    pub(crate) progress: Arc<Progress>,
    /// Set if errors about a full disk are expected.
    pub(crate) disk_fills: bool,
}

impl Writer {
    /// Saves until stopped.
    pub(crate) async fn run(self, mut node: usize, stopped: watch::Receiver<bool>) -> anyhow::Result<Log> {
        let log = Mutex::new(Log::new(self.place.clone(), self.kind));
        let mut number = 0;
        let mut client = None;
        while !*stopped.borrow() {
            node %= self.targets.len();
            let connected = match client.take() {
                Some(connected) => connected,
                None => match self.connect(node).await? {
                    Some(connected) => connected,
                    None => {
                        self.give_way(&mut node).await;
                        continue;
                    }
                },
            };
            let batch = self.batch(&connected, node, &mut number, &log);
            let answered = match self.kind {
                WriterKind::Sharing => {
                    let before = log.lock().answers;
                    let sent = Instant::now();
                    // A sharing writer never repeats a save, so it waits. A gateway that does not answer for so long
                    // has lost the call, which is a bug.
                    tokio::time::timeout(PATIENCE, batch).await.with_context(|| {
                        let log = log.lock();
                        let since = log.last_answer.map_or_else(|| sent.elapsed(), |last| last.elapsed());
                        let name = &self.name;
                        let answered = log.answers - before;
                        format!(
                            "{name}: {answered} of {BATCH} calls were answered, the last {} s ago",
                            since.as_secs()
                        )
                    })?
                }
                WriterKind::Owning => {
                    // An owning writer gives up early on purpose: the frozen gateway may process the save later, after
                    // another one has stored it.
                    tokio::time::timeout(IMPATIENCE, batch).await.unwrap_or(Ok(BatchOutcome::Failed))
                }
            };
            match answered? {
                BatchOutcome::Saved => client = Some(connected),
                BatchOutcome::Failed => {
                    log.lock().interruptions += 1;
                    self.give_way(&mut node).await;
                }
            }
        }
        Ok(log.into_inner())
    }

    async fn give_way(&self, node: &mut usize) {
        if self.kind == WriterKind::Owning {
            *node += 1;
        }
        tokio::time::sleep(PAUSE).await;
    }

    /// Returns `None` if the gateway is down or does not answer.
    async fn connect(&self, node: usize) -> anyhow::Result<Option<Client>> {
        match tokio::time::timeout(IMPATIENCE, Client::connect(&self.targets[node])).await {
            Err(_) => Ok(None),
            Ok(Ok(client)) => Ok(Some(client)),
            Ok(Err(error)) => self.tolerate(error).map(|()| None),
        }
    }

    async fn batch(
        &self,
        client: &Client,
        node: usize,
        number: &mut u64,
        log: &Mutex<Log>,
    ) -> anyhow::Result<BatchOutcome> {
        let first = match self.kind {
            WriterKind::Sharing => *number,
            WriterKind::Owning => match self.version(client).await {
                Ok(version) => {
                    let newest = log.lock().newest();
                    // An acknowledged save was committed, so no gateway may read an older version afterwards.
                    ensure!(
                        version >= newest,
                        "{}: {newest} was acknowledged, but the stored version is {version}",
                        self.name
                    );
                    version.0
                }
                Err(error) => return self.tolerate(error).map(|()| BatchOutcome::Failed),
            },
        };
        *number = first + BATCH;
        let saves = (first..first + BATCH).map(|number| self.save(client, node, number, log));
        let mut outcome = BatchOutcome::Saved;
        for saved in join_all(saves).await {
            if saved? == BatchOutcome::Failed {
                outcome = BatchOutcome::Failed;
            }
        }
        Ok(outcome)
    }

    /// Saves one text and logs the answer as soon as it arrives, because acknowledged saves must be stored even if the
    /// rest of the batch is cut short.
    async fn save(
        &self,
        client: &Client,
        node: usize,
        number: u64,
        log: &Mutex<Log>,
    ) -> anyhow::Result<BatchOutcome> {
        let content = format!("{}, save {}", self.name, number + 1);
        let hash = ContentHash::of(&content);
        // Recorded before sending: the answer may be lost, but the save stored.
        log.lock().sent.insert(hash.clone());
        let params = DocumentSaveParams {
            workspace_id: self.place.workspace_id.clone(),
            folder_id: Some(self.place.folder_id.clone()),
            content,
            // With the version, a repeated save cannot be stored twice: it is a conflict or gets the first answer
            // again.
            expected_version: (self.kind == WriterKind::Owning).then_some(Version(number)),
            save_reason: Some(SaveReason::Autosave),
            message: None,
        };
        let answer = client.call::<DocumentSave>(&params).await;
        log.lock().count_answer();
        match answer {
            Ok(saved) => {
                self.progress.acknowledge(node);
                log.lock().acknowledge(saved.doc.version, hash)?;
                Ok(BatchOutcome::Saved)
            }
            Err(error) => self.tolerate(error).map(|()| BatchOutcome::Failed),
        }
    }

    /// Returns the document's current version; 0 before the first save.
    async fn version(&self, client: &Client) -> Result<Version, ClientError> {
        let params = DocumentScopeParams {
            workspace_id: self.place.workspace_id.clone(),
            folder_id: Some(self.place.folder_id.clone()),
        };
        let document = client.call::<DocumentGet>(&params).await?.explicit;
        Ok(document.map_or(Version(0), |document| document.version))
    }

    /// Accepts errors that are expected during faults: no answer, an unavailable database, a full disk, and a conflict
    /// after a save whose answer was lost.
    fn tolerate(&self, error: ClientError) -> anyhow::Result<()> {
        let repeated = self.kind == WriterKind::Owning && error.kind() == Some(ErrorKind::VersionConflict);
        let is_full = self.disk_fills && reason(&error) == Some(InternalReason::DiskFull);
        if repeated || is_full || error.is_transient() {
            return Ok(());
        }
        let kind = error.kind();
        Err(error).with_context(|| format!("{} received an unexpected error ({kind:?})", self.name))
    }
}

/// Returns the gateway's reason for an internal error.
fn reason(error: &ClientError) -> Option<InternalReason> {
    match error {
        ClientError::Refused(refused) => refused.data.as_ref()?.reason,
        _ => None,
    }
}
