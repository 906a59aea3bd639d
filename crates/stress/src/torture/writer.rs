//! Clients that save without a pause and log every answer.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
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

/// Saves that are sent before the first of them is answered.
const BATCH: u64 = 16;
/// After how long a writer that may go elsewhere does.
const IMPATIENCE: Duration = Duration::from_secs(5);
/// Before another try.
const PAUSE: Duration = Duration::from_millis(50);

/// What a writer does when it gets no answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// It waits for its gateway, and then saves something else over whatever is there: each text is sent once, so it may be
    /// there once or not at all.
    Sharing,
    /// It asks the next gateway, with the same text for the same version: each is there exactly once, however often it was
    /// sent, and although a gateway that was frozen may save it later.
    Owning,
}

/// What came of a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    Saved,
    /// Not all of it was acknowledged.
    Failed,
}

pub(crate) struct Writer {
    pub(crate) name: String,
    pub(crate) kind: Kind,
    pub(crate) place: SavedScope,
    pub(crate) targets: Vec<Target>,
    pub(crate) progress: Arc<Progress>,
    /// Whether to be told that the disk is full is no surprise.
    pub(crate) disk_fills: bool,
}

impl Writer {
    /// Saves until it is told to stop.
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
                Kind::Sharing => {
                    let before = lock(&log).answers;
                    let sent = Instant::now();
                    tokio::time::timeout(PATIENCE, batch).await.with_context(|| {
                        let log = lock(&log);
                        let since = log.last_answer.map_or_else(|| sent.elapsed(), |last| last.elapsed());
                        let name = &self.name;
                        let answered = log.answers - before;
                        format!(
                            "{name}: {answered} of {BATCH} calls were answered, the last {} s ago",
                            since.as_secs()
                        )
                    })?
                }
                Kind::Owning => tokio::time::timeout(IMPATIENCE, batch).await.unwrap_or(Ok(Outcome::Failed)),
            };
            match answered? {
                Outcome::Saved => client = Some(connected),
                Outcome::Failed => {
                    lock(&log).interruptions += 1;
                    self.give_way(&mut node).await;
                }
            }
        }
        Ok(log.into_inner().unwrap_or_else(PoisonError::into_inner))
    }

    async fn give_way(&self, node: &mut usize) {
        if self.kind == Kind::Owning {
            *node += 1;
        }
        tokio::time::sleep(PAUSE).await;
    }

    /// None where the gateway is away or does not answer.
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
    ) -> anyhow::Result<Outcome> {
        let first = match self.kind {
            Kind::Sharing => *number,
            Kind::Owning => match self.version(client).await {
                Ok(version) => {
                    let newest = lock(log).newest();
                    ensure!(
                        version >= newest,
                        "{}: {newest} was acknowledged, {version} is there",
                        self.name
                    );
                    version.0
                }
                Err(error) => return self.tolerate(error).map(|()| Outcome::Failed),
            },
        };
        *number = first + BATCH;
        let saves = (first..first + BATCH).map(|number| self.save(client, node, number, log));
        let mut outcome = Outcome::Saved;
        for saved in join_all(saves).await {
            if saved? == Outcome::Failed {
                outcome = Outcome::Failed;
            }
        }
        Ok(outcome)
    }

    /// Saves one text and logs the answer when it comes: what is cut short later was still acknowledged.
    async fn save(
        &self,
        client: &Client,
        node: usize,
        number: u64,
        log: &Mutex<Log>,
    ) -> anyhow::Result<Outcome> {
        let content = format!("{}, save {}", self.name, number + 1);
        let hash = ContentHash::of(&content);
        lock(log).sent.insert(hash.clone());
        let params = DocumentSaveParams {
            workspace_id: self.place.workspace_id.clone(),
            folder_id: Some(self.place.folder_id.clone()),
            content,
            expected_version: (self.kind == Kind::Owning).then_some(Version(number)),
            save_reason: Some(SaveReason::Autosave),
            message: None,
        };
        let answer = client.call::<DocumentSave>(&params).await;
        lock(log).count_answer();
        match answer {
            Ok(saved) => {
                self.progress.acknowledge(node);
                lock(log).acknowledge(saved.doc.version, hash)?;
                Ok(Outcome::Saved)
            }
            Err(error) => self.tolerate(error).map(|()| Outcome::Failed),
        }
    }

    /// The version that the document has now; 0 before the first.
    async fn version(&self, client: &Client) -> Result<Version, ClientError> {
        let params = DocumentScopeParams {
            workspace_id: self.place.workspace_id.clone(),
            folder_id: Some(self.place.folder_id.clone()),
        };
        let document = client.call::<DocumentGet>(&params).await?.explicit;
        Ok(document.map_or(Version(0), |document| document.version))
    }

    /// Whether this is what a client may hear while things break: that nobody answers, that the database is away or its disk
    /// full, or, after a save without an answer, that it was made.
    fn tolerate(&self, error: ClientError) -> anyhow::Result<()> {
        let repeated = self.kind == Kind::Owning && error.kind() == Some(ErrorKind::VersionConflict);
        let is_full = self.disk_fills && reason(&error) == Some(InternalReason::DiskFull);
        if repeated || is_full || error.is_transient() {
            return Ok(());
        }
        let kind = error.kind();
        Err(error).with_context(|| format!("{} got an answer that it must not get ({kind:?})", self.name))
    }
}

/// How the gateway itself failed, where it says so.
fn reason(error: &ClientError) -> Option<InternalReason> {
    match error {
        ClientError::Refused(refused) => refused.data.as_ref()?.reason,
        _ => None,
    }
}

fn lock(log: &Mutex<Log>) -> MutexGuard<'_, Log> {
    log.lock().unwrap_or_else(PoisonError::into_inner)
}
