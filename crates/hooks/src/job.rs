//! Background jobs: work that hooks contribute for after the turn.

use std::fmt;
use std::future::Future;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use protocol::{TurnId, WorkspaceId};
use serde_json::Value;

use crate::HookFailure;

/// Arguments of one attempt at a job.
#[derive(Debug, Clone, PartialEq)]
pub struct JobContext {
    pub workspace_id: WorkspaceId,
    /// The turn whose hook contributed the job.
    pub turn_id: TurnId,
    pub kind: String,
    pub payload: Value,
    /// Number of the attempt, starting at 1.
    pub attempt: u32,
}

/// Runs the jobs of one kind.
///
/// A job is a row in the database. Any gateway with the same package may claim it, and it outlives the gateway that
/// claims it. If a gateway dies after doing the job and before recording it, the job runs again, so jobs must be
/// idempotent. Attempts are limited by the subscription of the hook that contributed the job ([`crate::Retries`]).
///
/// A closure from a [`JobContext`] to a future is also a worker.
pub trait JobWorker: Send + Sync + 'static {
    /// Runs the job once. A panic fails only this attempt.
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

/// Object-safe form of [`JobWorker`].
trait AnyWorker: Send + Sync + 'static {
    fn start(self: Arc<Self>, job: JobContext) -> BoxFuture<'static, Result<(), HookFailure>>;
}

impl<W: JobWorker> AnyWorker for W {
    fn start(self: Arc<Self>, job: JobContext) -> BoxFuture<'static, Result<(), HookFailure>> {
        // The future owns the worker through the `Arc`, so it can outlive the registry during a shutdown.
        Box::pin(async move { self.run(job).await })
    }
}

/// A kind of job and its worker.
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
