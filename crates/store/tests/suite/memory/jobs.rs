//! Background jobs: claimed by one gateway at a time, retried, completed once.

use std::time::Duration;

use protocol::turn::JobStatus;
use protocol::{TokenUsage, Turn};
use serde_json::json;
use store::{ClaimedJob, JobFailure, JobRetries, MemoryFilter, MemoryPlace, MemoryView, NewJob, NewMemory};

use crate::fixture::{Fixture, from_now};
use crate::memory::new;

const LEASE: Duration = Duration::from_secs(60);

async fn turn(given: &Fixture) -> Turn {
    given.turn(&given.thread(None, "thread").await).await
}

async fn add(given: &Fixture, turn: &Turn, kind: &str, max_attempts: u32) {
    let job = NewJob {
        workspace_id: given.workspace.clone(),
        turn_id: turn.id.clone(),
        kind: kind.to_owned(),
        payload: json!({ "of": kind }),
        retries: JobRetries { max_attempts, back_off: Duration::from_secs(30) },
    };
    given.store.add_job(job).await.unwrap();
}

/// Returns the kinds that the gateways of these tests know.
fn kinds() -> Vec<String> {
    ["k", "other"].map(str::to_owned).to_vec()
}

async fn claim(given: &Fixture, owner: &str) -> Option<ClaimedJob> {
    given.store.claim_job(owner, LEASE, &kinds()).await.unwrap()
}

/// Makes all waiting jobs due.
async fn let_time_pass(given: &Fixture) {
    let connection = given.connection().await;
    connection.execute("UPDATE background_job SET due_at = 1").await.unwrap();
    connection.close().await;
}

fn fact(given: &Fixture, text: &str) -> NewMemory {
    new(MemoryPlace::Workspace(given.workspace.clone()), text)
}

async fn remembered(given: &Fixture) -> Vec<String> {
    let view = MemoryView { workspace_id: given.workspace.clone(), owner: None, thread_id: None };
    let filter = MemoryFilter { limit: 9, ..MemoryFilter::default() };
    let items = given.store.memories(&view, filter).await.unwrap();
    items.into_iter().filter_map(|item| item.text).collect()
}

both_databases!(a_job_is_claimed_by_one_and_done_once, async |given| {
    assert_eq!(claim(given, "a").await, None);
    let turn = turn(given).await;
    add(given, &turn, "k", 3).await;
    // A turn has one job of a kind, even if it is added repeatedly.
    add(given, &turn, "k", 3).await;
    let job = claim(given, "a").await.unwrap();
    assert_eq!((job.kind.as_str(), &job.payload, job.attempt), ("k", &json!({ "of": "k" }), 1));
    assert_eq!((job.turn_id.clone(), claim(given, "b").await), (turn.id, None));
    let done = given.store.finish_job(&job, "a", vec![fact(given, "one")], Some("ada")).await.unwrap();
    assert!(done);
    assert!(!given.store.finish_job(&job, "a", vec![fact(given, "two")], None).await.unwrap());
    assert_eq!((remembered(given).await, claim(given, "a").await), (vec!["one".to_owned()], None));
    assert_eq!(given.store.prune_jobs(from_now(60_000)).await.unwrap(), 1);
});

// The claim ends with its lease, because a dead gateway cannot release it.
both_databases!(a_job_of_a_gateway_that_died_is_taken_over, async |given| {
    let turn = turn(given).await;
    add(given, &turn, "k", 3).await;
    let lost = claim(given, "dead").await.unwrap();
    let_time_pass(given).await;
    let job = claim(given, "living").await.unwrap();
    assert_eq!((&job.id, job.attempt), (&lost.id, 2));
    // The gateway that was taken for dead was only slow. Its late results are not written.
    assert!(!given.store.finish_job(&lost, "dead", vec![fact(given, "late")], None).await.unwrap());
    assert_eq!(given.store.fail_job(&lost, "dead", "late").await.unwrap(), JobFailure::NotHeld);
    assert!(given.store.finish_job(&job, "living", vec![fact(given, "in time")], None).await.unwrap());
    assert_eq!(remembered(given).await, ["in time"]);
});

both_databases!(a_job_that_fails_waits_and_is_given_up_at_last, async |given| {
    let turn = turn(given).await;
    add(given, &turn, "k", 3).await;
    for (attempt, wait) in [(1, 30_000), (2, 60_000)] {
        let job = claim(given, "a").await.unwrap();
        assert_eq!(job.attempt, attempt);
        let before = given.store.now().milliseconds();
        let JobFailure::WaitsUntil(until) = given.store.fail_job(&job, "a", "no\0luck").await.unwrap() else {
            panic!("it is tried again")
        };
        let waits = until.milliseconds() - before;
        assert!((wait..wait + 30_000).contains(&waits), "{waits}");
        assert_eq!(claim(given, "a").await, None);
        let_time_pass(given).await;
    }
    let job = claim(given, "b").await.unwrap();
    assert_eq!(given.store.fail_job(&job, "b", "still none").await.unwrap(), JobFailure::GivenUp);
    let_time_pass(given).await;
    assert_eq!(claim(given, "a").await, None);
    assert_eq!(given.column("SELECT error FROM background_job").await, ["still none"]);
});

// Attempts are counted when they start. A job that crashes its gateway never reports a failure.
both_databases!(a_job_that_ends_each_gateway_is_given_up, async |given| {
    let turn = turn(given).await;
    add(given, &turn, "k", 2).await;
    add(given, &turn, "other", 2).await;
    for attempt in [1, 2] {
        let mut claimed = Vec::new();
        while let Some(job) = claim(given, "killed").await {
            assert_eq!(job.attempt, attempt);
            claimed.push(job.kind);
        }
        assert_eq!(claimed.len(), 2);
        let_time_pass(given).await;
    }
    assert_eq!(claim(given, "a").await, None);
    let jobs = given.store.jobs_of_turn(&given.workspace, &turn.id).await.unwrap();
    let shown: Vec<_> = jobs.iter().map(|job| (job.kind.as_str(), job.status, job.attempts)).collect();
    assert_eq!(shown, [("k", JobStatus::Failed, 2), ("other", JobStatus::Failed, 2)]);
    let error = "each gateway that worked on it ended before it was done";
    assert_eq!(jobs[0].error.as_deref(), Some(error));
});

both_databases!(a_job_is_held_as_long_as_its_lease_is_renewed, async |given| {
    let turn = turn(given).await;
    add(given, &turn, "k", 9).await;
    let job = claim(given, "a").await.unwrap();
    let_time_pass(given).await;
    assert!(given.store.renew_job(&job, "a", LEASE).await.unwrap());
    assert_eq!(claim(given, "b").await, None);
    let_time_pass(given).await;
    assert!(claim(given, "b").await.is_some());
    assert!(!given.store.renew_job(&job, "a", LEASE).await.unwrap());
    assert_eq!(given.store.fail_job(&job, "a", "late").await.unwrap(), JobFailure::NotHeld);
    let jobs = given.store.jobs_of_turn(&given.workspace, &turn.id).await.unwrap();
    assert_eq!((jobs[0].status, jobs[0].error.as_deref()), (JobStatus::Running, None));
});

both_databases!(what_a_job_cost_counts_in_its_workspaces_day, async |given| {
    let turn = turn(given).await;
    add(given, &turn, "k", 3).await;
    let job = claim(given, "a").await.unwrap();
    let usage = TokenUsage { input: 100, output: 7, ..TokenUsage::default() };
    given.store.add_job_usage(&job, usage).await.unwrap();
    given.store.fail_job(&job, "a", "not a list").await.unwrap();
    let_time_pass(given).await;
    let again = claim(given, "b").await.unwrap();
    given.store.add_job_usage(&again, usage).await.unwrap();
    let since = |moment| given.store.usage_since(&given.workspace, moment);
    let spent = since(from_now(-60_000)).await.unwrap();
    assert_eq!((spent.input, spent.output), (200, 14));
    assert_eq!(since(from_now(60_000)).await.unwrap().input, 0);
    let jobs = given.store.jobs_of_turn(&given.workspace, &turn.id).await.unwrap();
    assert_eq!(jobs[0].usage.map(|usage| usage.input), Some(200));
});

// Claims skip locked rows, so gateways neither wait for each other nor claim the same job.
both_databases!(many_gateways_share_the_jobs, async |given| {
    let mut expected = Vec::new();
    for _ in 0..12 {
        let turn = turn(given).await;
        add(given, &turn, "k", 3).await;
        expected.push(turn.id);
    }
    let worker = async |owner: &'static str| {
        let store = given.another_store().await;
        let mut done = Vec::new();
        while let Some(job) = store.claim_job(owner, LEASE, &kinds()).await.unwrap() {
            assert!(store.finish_job(&job, owner, Vec::new(), None).await.unwrap());
            done.push(job.turn_id);
        }
        store.close().await;
        done
    };
    let (one, two, three) = tokio::join!(worker("one"), worker("two"), worker("three"));
    let mut done = [one, two, three].concat();
    done.sort();
    assert_eq!(done, expected);
});

both_databases!(a_job_waits_for_a_gateway_that_knows_its_kind, async |given| {
    let turn = turn(given).await;
    add(given, &turn, "of a later version", 1).await;
    assert_eq!(claim(given, "a").await, None);
    assert_eq!(given.store.claim_job("a", LEASE, &[]).await.unwrap(), None);
    let later = ["of a later version".to_owned()];
    let job = given.store.claim_job("b", LEASE, &later).await.unwrap().unwrap();
    assert_eq!((job.kind.as_str(), job.attempt), ("of a later version", 1));
    // A job that is never started is not kept forever.
    add(given, &turn, "of nobody", 1).await;
    assert_eq!(given.store.prune_jobs(from_now(-60_000)).await.unwrap(), 0);
    assert_eq!(given.store.prune_jobs(from_now(60_000)).await.unwrap(), 1);
});
