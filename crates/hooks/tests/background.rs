//! Background hooks are bounded, recorded and drained.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use hooks::{
    BackgroundJob, ContributionKind, Drained, Execution, FailurePolicy, Hook, HookContext, HookLimits,
    HookSubscription,
};
use serde_json::json;
use tokio::time::Instant;

use crate::behaviour::{Bench, Does, bench, bench_with, subscription};

fn background(id: &str, does: impl Hook) -> HookSubscription {
    subscription(id, does).may_contribute([ContributionKind::BackgroundJob]).execution(Execution::Background)
}

fn narrow(does: impl Hook) -> Bench {
    let limits = HookLimits { background_running: 2, background_queued: 3, ..HookLimits::default() };
    bench_with(limits, [background("hook", does)])
}

#[tokio::test(start_paused = true)]
async fn a_phase_does_not_wait_and_shutdown_does() {
    let job = BackgroundJob { kind: "index".into(), payload: json!({"n": 1}) };
    let bench = bench([background("hook", Does::ReturnAfter(Duration::from_secs(30), vec![job.into()]))]);
    let before = Instant::now();
    bench.run().await.unwrap();
    // The clock is paused, so any waiting in the phase would show up as elapsed time.
    assert!(before.elapsed().is_zero());
    assert_eq!(bench.recorder.runs(), vec![]);
    let drained = bench.runtime.shutdown(Duration::from_secs(40)).await;
    assert_eq!(drained, Drained { finished: 1, aborted: 0 });
    assert_eq!(before.elapsed().as_secs(), 30, "no longer than it takes");
    assert_eq!(bench.only_run().duration_us, 30_000_000);
    assert_eq!(bench.recorder.delivered()[0].contribution.kind(), ContributionKind::BackgroundJob);
}

#[tokio::test(start_paused = true)]
async fn excess_contributions_are_rejected_and_recorded() {
    let running = Arc::new(AtomicUsize::new(0));
    let bench = narrow(move |_: HookContext| {
        let running = running.clone();
        async move {
            assert!(running.fetch_add(1, Ordering::SeqCst) < 2);
            tokio::time::sleep(Duration::from_secs(1)).await;
            running.fetch_sub(1, Ordering::SeqCst);
            Ok(vec![])
        }
    });
    let mut diagnostics = Vec::new();
    // Two run, three wait, and the remaining two exceed the limits.
    for _ in 0..7 {
        diagnostics.extend(bench.run().await.unwrap().diagnostics);
    }
    assert_eq!(bench.statuses(), ["hook rejected"; 2]);
    assert_eq!(diagnostics.len(), 2);
    assert_eq!(diagnostics[0].message, "hook `hook`: the queue of background hooks is full");
    let before = Instant::now();
    bench.runtime.shutdown(Duration::from_secs(100)).await;
    assert_eq!(before.elapsed().as_secs(), 3, "five hooks, two at a time, a second each");
    let completed = bench.statuses().iter().filter(|status| *status == "hook completed").count();
    assert_eq!((completed, bench.recorder.runs().len()), (5, 7));
}

#[tokio::test(start_paused = true)]
async fn endless_hooks_are_aborted_and_recorded() {
    let bench = narrow(Does::Hang);
    for _ in 0..4 {
        bench.run().await.unwrap();
    }
    let before = Instant::now();
    let drained = bench.runtime.shutdown(Duration::from_secs(10)).await;
    assert_eq!((drained, before.elapsed().as_secs()), (Drained { finished: 0, aborted: 4 }, 10));
    let mut previews: Vec<_> =
        bench.recorder.runs().into_iter().map(|run| run.error_preview.unwrap()).collect();
    previews.sort();
    // The limits let two hooks run while two wait, and the records must distinguish them.
    let queued = "cancelled before it started";
    let ran = "cancelled while it ran";
    assert_eq!(previews, [queued, queued, ran, ran]);
    assert_eq!(bench.statuses(), ["hook cancelled"; 4]);
}

#[tokio::test(start_paused = true)]
async fn after_a_shutdown_nothing_is_taken() {
    let bench = bench([
        background("hook", Does::Hang).failure(FailurePolicy::Skip),
        subscription("waited", Does::Return(vec![])),
    ]);
    assert_eq!(bench.runtime.shutdown(Duration::ZERO).await, Drained::default());
    let outcome = bench.run().await.unwrap();
    assert_eq!(outcome.diagnostics, vec![], "skip is silent");
    assert_eq!(bench.statuses(), ["hook rejected", "waited completed"]);
    assert_eq!(bench.runtime.shutdown(Duration::ZERO).await, Drained::default(), "twice is not too often");
}

#[tokio::test(start_paused = true)]
async fn a_runtime_that_is_dropped_stops_its_hooks() {
    let Bench { runtime, recorder } = narrow(Does::Hang);
    runtime.run_phase(crate::behaviour::PHASE, crate::behaviour::turn()).await.unwrap();
    tokio::task::yield_now().await;
    drop(runtime);
    while recorder.runs().is_empty() {
        tokio::task::yield_now().await;
    }
    assert_eq!(recorder.runs()[0].status, hooks::RunStatus::Cancelled);
}

#[tokio::test(start_paused = true)]
async fn background_hooks_run_beside_phases_without_end() {
    let bench = Arc::new(narrow(Does::ReturnAfter(Duration::from_millis(5), vec![])));
    let phases = (0..50).map(|_| {
        let bench = bench.clone();
        tokio::spawn(async move { bench.run().await.unwrap() })
    });
    for phase in phases.collect::<Vec<_>>() {
        phase.await.unwrap();
    }
    bench.runtime.shutdown(Duration::from_secs(1)).await;
    assert_eq!(bench.recorder.runs().len(), 50, "one record a run, taken or not");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_shutdown_amid_phases_loses_no_record() {
    // Repeat the race between submitting and closing, which a single round rarely hits.
    for _ in 0..20 {
        let bench = Arc::new(narrow(|_: HookContext| async {
            tokio::task::yield_now().await;
            Ok(vec![])
        }));
        let phases: Vec<_> = (0..40)
            .map(|_| {
                let bench = bench.clone();
                tokio::spawn(async move { bench.run().await.unwrap() })
            })
            .collect();
        bench.runtime.shutdown(Duration::ZERO).await;
        for phase in phases {
            phase.await.unwrap();
        }
        assert_eq!(bench.recorder.runs().len(), 40);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_shutdown_ends_after_the_last_record() {
    // If the tracker token were released before the record, the shutdown could win the race and some record would be
    // missing.
    for _ in 0..200 {
        let bench = narrow(Does::Hang);
        for _ in 0..5 {
            bench.run().await.unwrap();
        }
        bench.runtime.shutdown(Duration::ZERO).await;
        assert_eq!(bench.statuses(), ["hook cancelled"; 5]);
    }
}
