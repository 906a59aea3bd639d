//! Background jobs: work that hooks request for after a turn, done by whichever gateway claims it first.

use std::panic::AssertUnwindSafe;
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use hooks::{BackgroundJob, Contributed, Contribution, JobContext, Retries};
use protocol::{TurnId, WorkspaceId};
use store::{ClaimedJob, JobFailure, JobRetries, NewJob, NewMemory};

use crate::agent::Agent;
use crate::domains::memory::extraction;
use crate::error::AgentError;

/// Time that a claimed job stays reserved without a renewal.
const LEASE: Duration = Duration::from_secs(30);
/// Interval between renewals.
const RENEWAL: Duration = Duration::from_secs(10);
/// Maximum time for one attempt.
const TIME: Duration = Duration::from_secs(120);

/// Result of a job, written together with its end.
pub(crate) struct JobResult {
    pub(crate) memories: Vec<NewMemory>,
    /// The user on whose behalf the job ran.
    pub(crate) actor: Option<String>,
}

/// Returns the job in a contribution; `None` if it is something else.
pub(crate) fn new_job(
    workspace_id: &WorkspaceId,
    turn_id: &TurnId,
    contributed: &Contributed,
) -> Option<NewJob> {
    let Contribution::BackgroundJob(BackgroundJob { kind, payload }) = &contributed.contribution else {
        return None;
    };
    let Retries { max_attempts, back_off } = contributed.retries;
    Some(NewJob {
        workspace_id: workspace_id.clone(),
        turn_id: turn_id.clone(),
        kind: kind.clone(),
        payload: payload.clone(),
        retries: JobRetries { max_attempts, back_off },
    })
}

impl Agent {
    /// Stores the jobs that the hooks of a turn contributed. The turn has already ended, so failures are only logged.
    pub(crate) async fn store_jobs(
        &self,
        workspace_id: &WorkspaceId,
        turn_id: &TurnId,
        contributions: &[Contributed],
    ) {
        for contributed in contributions {
            let Some(job) = new_job(workspace_id, turn_id, contributed) else { continue };
            // Nothing would ever claim such a job. Report it here, where the responsible hook is still known.
            if !self.job_kinds().contains(&job.kind) {
                let kind = &job.kind;
                let hook = &contributed.hook_id;
                tracing::error!(kind, hook, turn = %turn_id, "dropped job: no worker registered for its kind");
                continue;
            }
            match self.store.add_job(job).await {
                Ok(()) => self.jobs_added.notify_one(),
                Err(error) => {
                    tracing::error!(%error, hook = contributed.hook_id, turn = %turn_id, "failed to store a job");
                }
            }
        }
    }

    /// Waits until a job may be available, at most for `at_most`.
    pub fn job_added(&self, at_most: Duration) -> BoxFuture<'_, ()> {
        Box::pin(async move { drop(tokio::time::timeout(at_most, self.jobs_added.notified()).await) })
    }

    /// Runs the jobs that are due, one after another, and returns how many were completed.
    pub fn run_due_jobs(&self) -> BoxFuture<'_, Result<usize, AgentError>> {
        Box::pin(async move {
            let mut done = 0;
            let kinds = self.job_kinds();
            // One at a time: jobs are not urgent, and a burst of them must not compete with running turns for the
            // database.
            while let Some(job) = self.store.claim_job(&self.node, LEASE, &kinds).await? {
                let finished = match self.run_while_reserved(&job).await {
                    Ok(JobResult { memories, actor }) => {
                        let finished = self.store.finish_job(&job, &self.node, memories, actor.as_deref());
                        finished.await.map_err(|error| error.to_string())
                    }
                    Err(error) => Err(error),
                };
                match finished {
                    // Another gateway may have taken the job over and finished it; then it is not counted here.
                    Ok(is_ours) => {
                        done += usize::from(is_ours);
                        self.statistics.job_ended(if is_ours { "completed" } else { "taken_over" });
                    }
                    Err(error) => self.fail_job(&job, &error).await?,
                }
            }
            Ok(done)
        })
    }

    async fn fail_job(&self, job: &ClaimedJob, error: &str) -> Result<(), AgentError> {
        let ClaimedJob { kind, turn_id, attempt, .. } = job;
        tracing::warn!(error, kind, turn = %turn_id, attempt, "job failed");
        let failure = self.store.fail_job(job, &self.node, error).await?;
        self.statistics.job_ended(if failure == JobFailure::GivenUp { "given_up" } else { "failed" });
        if failure == JobFailure::GivenUp {
            tracing::error!(error, kind, turn = %turn_id, "job given up after its last attempt");
        }
        Ok(())
    }

    /// Runs a job within its time limit and only while this gateway holds it. A panic fails this attempt; it must not
    /// end the gateway or its other jobs.
    async fn run_while_reserved(&self, job: &ClaimedJob) -> Result<JobResult, String> {
        let work = tokio::time::timeout(TIME, self.run_job(job));
        tokio::select! {
            worked = AssertUnwindSafe(work).catch_unwind() => match worked {
                Ok(Ok(worked)) => worked,
                Ok(Err(_)) => Err(format!("it took longer than {TIME:?}")),
                Err(_) => Err("it panicked".to_owned()),
            },
            // By now another gateway runs the same job, so stop this attempt.
            () = self.reservation_lost(job) => Err("another gateway has taken it over".to_owned()),
        }
    }

    /// Renews the reservation of a job; returns only when another gateway has taken it over.
    async fn reservation_lost(&self, job: &ClaimedJob) {
        loop {
            tokio::time::sleep(RENEWAL).await;
            match self.store.renew_job(job, &self.node, LEASE).await {
                Ok(true) => {}
                Ok(false) => return,
                // The reservation is in doubt, but working on is harmless: the store rejects the result of a job that
                // was taken over.
                Err(error) => tracing::warn!(%error, kind = job.kind, "failed to renew a job's lease"),
            }
        }
    }

    /// Returns the kinds of jobs this gateway can run: the built-in one and those of packages.
    fn job_kinds(&self) -> Vec<String> {
        let of_packages = self.runtime.registry().job_kinds();
        [extraction::KIND].into_iter().chain(of_packages).map(str::to_owned).collect()
    }

    async fn run_job(&self, job: &ClaimedJob) -> Result<JobResult, String> {
        if job.kind == extraction::KIND {
            return self.extract(job).await.map_err(|error| error.to_string());
        }
        let told = JobContext {
            workspace_id: job.workspace_id.clone(),
            turn_id: job.turn_id.clone(),
            kind: job.kind.clone(),
            payload: job.payload.clone(),
            attempt: job.attempt,
        };
        let Some(doing) = self.runtime.registry().start_job(told) else {
            return Err(format!("no worker registered for jobs of kind `{}`", job.kind));
        };
        match doing.await {
            Ok(()) => Ok(JobResult { memories: Vec::new(), actor: None }),
            Err(failure) => Err(hooks::preview(failure.message())),
        }
    }
}
