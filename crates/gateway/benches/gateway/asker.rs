//! A client that sends requests in one of the compared ways.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use protocol::method::{
    DocumentResolveForThread, DocumentResolveForThreadParams, DocumentSave, DocumentSaveParams,
};
use protocol::{Method, SaveReason};
use rpc::Caller;
use store::Store;
use tokio::sync::Mutex;
use tokio::task::JoinSet;
use workload::{self, ACTOR, DeepThread, text};

use crate::post::PostConnection;

/// Kind of request.
#[derive(Clone, Copy)]
pub(crate) enum Work {
    Resolve,
    Save,
}

/// Way of sending it.
#[derive(Clone)]
pub(crate) enum Way {
    Store(Store),
    Socket(Caller),
    Post(Arc<Mutex<PostConnection>>),
}

#[derive(Clone)]
pub(crate) struct Asker {
    pub(crate) way: Way,
    pub(crate) thread: Arc<DeepThread>,
    /// Counts saves, so that no two have the same text.
    pub(crate) saves: Arc<AtomicU64>,
}

/// Makes requests with all askers concurrently.
pub(crate) async fn ask_together(askers: &[Asker], work: Work, requests: usize) -> anyhow::Result<()> {
    let share = requests / askers.len();
    let mut running = JoinSet::new();
    for asker in askers {
        let asker = asker.clone();
        running.spawn(async move {
            for _ in 0..share {
                asker.ask(work).await?;
            }
            anyhow::Ok(())
        });
    }
    while let Some(finished) = running.join_next().await {
        finished??;
    }
    Ok(())
}

impl Asker {
    async fn ask(&self, work: Work) -> anyhow::Result<()> {
        match (work, &self.way) {
            (Work::Resolve, Way::Store(store)) => {
                store.resolve_for_thread(&self.thread.workspace_id, &self.thread.thread_id).await?;
                Ok(())
            }
            (Work::Save, Way::Store(store)) => {
                store.save_document(workload::save(self.thread.scope(), self.number()), Some(ACTOR)).await?;
                Ok(())
            }
            (Work::Resolve, _) => {
                let params = DocumentResolveForThreadParams {
                    workspace_id: self.thread.workspace_id.clone(),
                    thread_id: self.thread.thread_id.clone(),
                };
                self.call::<DocumentResolveForThread>(&params).await
            }
            (Work::Save, _) => {
                let params = DocumentSaveParams {
                    workspace_id: self.thread.workspace_id.clone(),
                    folder_id: Some(self.thread.outermost.clone()),
                    content: text(self.number()),
                    expected_version: None,
                    save_reason: Some(SaveReason::Autosave),
                    message: None,
                };
                self.call::<DocumentSave>(&params).await
            }
        }
    }

    async fn call<M: Method>(&self, params: &M::Params) -> anyhow::Result<()> {
        match &self.way {
            Way::Store(_) => anyhow::bail!("a store has no methods"),
            Way::Socket(caller) => drop(caller.call::<M::Result>(M::NAME, params).await?),
            Way::Post(connection) => drop(connection.lock().await.call::<M>(params).await?),
        }
        Ok(())
    }

    fn number(&self) -> u64 {
        self.saves.fetch_add(1, Ordering::Relaxed)
    }
}
