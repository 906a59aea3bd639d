//! Work after a turn: who does the jobs that hooks contribute.

use std::fmt;
use std::future::Future;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use protocol::{TurnId, WorkspaceId};
use serde_json::Value;

use crate::HookFailure;

/// A job, as whoever does it is told.
#[derive(Debug, Clone, PartialEq)]
pub struct JobContext {
    pub workspace_id: WorkspaceId,
    /// The turn whose hook contributed it.
    pub turn_id: TurnId,
    pub kind: String,
    pub payload: Value,
    /// Which time it is tried, from 1.
    pub attempt: u32,
}

/// Does the jobs of a kind.
///
/// A job is a row in the database: any gateway with the same package may claim it, and it survives the one that did. Whoever
/// is killed between doing it and saying so has it done again, so doing it twice must be the same as doing it once. It is
/// tried again as often as the subscription of the hook that contributed it says ([`crate::Retries`]).
///
/// Closures from a [`JobContext`] to a future are workers, too.
pub trait JobWorker: Send + Sync + 'static {
    /// Does a job, or says why it could not. A panic inside is a failure of this attempt.
    fn run(&self, job: JobContext) -> impl Future<Output = Result<(), HookFailure>> + Send;
}

impl<F, R> JobWorker for F
where
    F: Fn(JobContext) -> R + Send + Sync + 'static,
    R: Future<Output = Result<(), HookFailure>> + Send,
{
    fn run(&self, job: JobContext) -> impl Future<Output = Result<(), HookFailure>> + Send {
        self(job)
    }
}

/// [`JobWorker`] in a form that can be kept beside others.
trait AnyWorker: Send + Sync + 'static {
    fn start(self: Arc<Self>, job: JobContext) -> BoxFuture<'static, Result<(), HookFailure>>;
}

impl<W: JobWorker> AnyWorker for W {
    fn start(self: Arc<Self>, job: JobContext) -> BoxFuture<'static, Result<(), HookFailure>> {
        Box::pin(async move { self.run(job).await })
    }
}

/// A kind of jobs, and who does them.
#[derive(Clone)]
pub(crate) struct RegisteredJob {
    pub(crate) kind: String,
    worker: Arc<dyn AnyWorker>,
}

impl RegisteredJob {
    pub(crate) fn new(kind: impl Into<String>, worker: impl JobWorker) -> Self {
        Self { kind: kind.into(), worker: Arc::new(worker) }
    }

    pub(crate) fn start(&self, job: JobContext) -> BoxFuture<'static, Result<(), HookFailure>> {
        Arc::clone(&self.worker).start(job)
    }
}

impl fmt::Debug for RegisteredJob {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("RegisteredJob").field(&self.kind).finish()
    }
}
