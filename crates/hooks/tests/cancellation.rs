//! Hooks of an abandoned phase are aborted and recorded.

use std::sync::Arc;
use std::time::Duration;

use hooks::{FailurePolicy, HookContext, HookError, HookLimits, HookRun, HookSubscription, Recorder};
use tokio::sync::mpsc;
use tokio::time::timeout;

use crate::behaviour::{Does, PHASE, bench, bench_with, section, subscription};

/// A hook that never ends, and reports when it is dropped and when its token is cancelled.
fn witness(id: &str) -> (HookSubscription, mpsc::UnboundedReceiver<&'static str>) {
    struct Dropped(mpsc::UnboundedSender<&'static str>);
    impl Drop for Dropped {
        fn drop(&mut self) {
            let _ = self.0.send("dropped");
        }
    }
    let (sender, receiver) = mpsc::unbounded_channel();
    let hook = subscription(id, move |context: HookContext| {
        let dropped = Dropped(sender.clone());
        async move {
            let _ = dropped.0.send("started");
            let token = context.cancellation.clone();
            let sender = dropped.0.clone();
            // Stands for work on another thread: aborting the hook does not stop it, only its token does.
            tokio::spawn(async move {
                token.cancelled().await;
                let _ = sender.send("cancelled");
            });
            std::future::pending().await
        }
    });
    (hook, receiver)
}

/// Returns all reports, sorted.
async fn told(mut receiver: mpsc::UnboundedReceiver<&'static str>) -> Vec<&'static str> {
    let mut told = Vec::new();
    // The reports come from two tasks, in any order.
    while told.len() < 3 {
        told.push(receiver.recv().await.unwrap());
    }
    told.sort_unstable();
    told
}

#[tokio::test(start_paused = true)]
async fn dropping_a_phase_aborts_its_hooks() {
    let (hook, receiver) = witness("hangs");
    let bench = bench([
        hook.priority(1),
        subscription("quick", Does::Return(vec![section("s", "")])),
        subscription("later", Does::Return(vec![])).after("hangs"),
    ]);
    timeout(Duration::from_secs(1), bench.run()).await.unwrap_err();
    assert_eq!(told(receiver).await, ["cancelled", "dropped", "started"]);
    assert_eq!(bench.statuses(), ["hangs cancelled", "later cancelled", "quick completed"]);
    let runs = bench.recorder.runs();
    assert_eq!(runs[0].duration_us, 1_000_000);
    assert_eq!(runs[1].error_preview.as_deref(), Some("cancelled before it started"));
}

#[tokio::test(start_paused = true)]
async fn a_timeout_aborts_and_cancels() {
    let (hook, receiver) = witness("hangs");
    let bench = bench([hook]);
    bench.run().await.unwrap();
    assert_eq!(told(receiver).await, ["cancelled", "dropped", "started"]);
}

#[tokio::test(start_paused = true)]
async fn a_hook_that_fails_closed_takes_the_others_with_it() {
    let (hook, receiver) = witness("hangs");
    let bench = bench([
        hook,
        subscription("fails", Does::Fail("no")).failure(FailurePolicy::FailClosed),
        subscription("later", Does::Return(vec![])).after("fails"),
    ]);
    let HookError::Failed { subscription_id, .. } = bench.run().await.unwrap_err() else { panic!() };
    assert_eq!(subscription_id, "fails");
    assert_eq!(told(receiver).await, ["cancelled", "dropped", "started"]);
    assert_eq!(bench.statuses(), ["fails failed", "hangs cancelled", "later cancelled"]);
}

#[tokio::test(start_paused = true)]
async fn of_hooks_that_fail_together_the_first_is_named() {
    let fails = |id: &str| subscription(id, Does::Hang).failure(FailurePolicy::FailClosed);
    let bench = bench([fails("c"), fails("a"), fails("b")]);
    let HookError::Failed { subscription_id, .. } = bench.run().await.unwrap_err() else { panic!() };
    assert_eq!(subscription_id, "a");
    assert_eq!(bench.statuses(), ["a timed_out", "b timed_out", "c timed_out"]);
}

#[tokio::test(start_paused = true)]
async fn after_a_failure_nothing_more_of_the_batch_starts() {
    // One at a time, so that `b` has not started yet when `a` fails.
    let limits = HookLimits { concurrent: 1, ..HookLimits::default() };
    let fails = subscription("a", Does::Fail("no")).failure(FailurePolicy::FailClosed);
    let bench = bench_with(limits, [fails, subscription("b", Does::Hang)]);
    bench.run().await.unwrap_err();
    assert_eq!(bench.statuses(), ["a failed", "b cancelled"]);
    let preview = bench.recorder.runs().remove(1).error_preview;
    assert_eq!(preview.as_deref(), Some("cancelled before it started"));
}

#[tokio::test]
async fn returning_hook_does_not_cancel_its_spawned_work() {
    let (sender, mut receiver) = mpsc::unbounded_channel();
    let hook = subscription("hook", move |context: HookContext| {
        let _ = sender.send(context.cancellation.clone());
        async { Ok(vec![]) }
    });
    bench([hook]).run().await.unwrap();
    assert!(!receiver.recv().await.unwrap().is_cancelled());
}

#[tokio::test]
async fn a_panicking_recorder_does_not_end_the_phase() {
    struct Broken;
    impl Recorder for Broken {
        fn record(&self, _: HookRun) {
            panic!("the disk is full");
        }
        fn deliver(&self, _: &HookRun, _: Vec<hooks::Contributed>) {}
    }
    let mut registry = hooks::HookRegistry::new();
    let package = hooks::HookPackage::new("package", "domain");
    registry.register(package.with(subscription("hook", Does::Return(vec![section("s", "")])))).unwrap();
    let runtime = hooks::HookRuntime::new(registry, Arc::new(Broken), hooks::HookLimits::default());
    let outcome = runtime.run_phase(PHASE, crate::behaviour::turn()).await.unwrap();
    assert_eq!(outcome.sections().count(), 1);
}
