//! Hooks that are retried.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use hooks::{HookContext, HookFailure, Retries};
use tokio::time::Instant;

use crate::behaviour::{bench, section, status, subscription};

/// Fails `times` times before it succeeds, and counts its attempts.
fn failing(times: u32, tried: &Arc<AtomicU32>) -> impl hooks::Hook + use<> {
    let tried = Arc::clone(tried);
    move |_: HookContext| {
        // Counted before the future is polled, so that an attempt that is never awaited is noticed.
        let attempt = tried.fetch_add(1, Ordering::SeqCst);
        async move {
            if attempt < times { Err(HookFailure::new("not yet")) } else { Ok(vec![section("s", "text")]) }
        }
    }
}

const THREE: Retries = Retries { max_attempts: 3, back_off: Duration::from_secs(1) };

#[tokio::test(start_paused = true)]
async fn a_hook_that_fails_is_tried_again_after_a_pause() {
    let tried = Arc::default();
    let hook = subscription("h", failing(2, &tried)).retries(THREE).timeout(Duration::from_secs(60));
    let bench = bench([hook]);
    let started = Instant::now();
    let outcome = bench.run().await.unwrap();
    assert_eq!((tried.load(Ordering::SeqCst), outcome.sections().count()), (3, 1));
    assert_eq!(started.elapsed(), Duration::from_secs(3), "one second, then two");
    assert_eq!(status(&bench.only_run()), "completed");
}

#[tokio::test(start_paused = true)]
async fn it_is_tried_no_more_often_than_it_asks_for() {
    for (retries, expected) in [(Retries::default(), 1), (THREE, 3)] {
        let tried = Arc::default();
        // The timeout allows several more attempts, so only the limit can end them.
        let hook = subscription("h", failing(9, &tried)).retries(retries).timeout(Duration::from_secs(60));
        let bench = bench([hook]);
        assert_eq!(bench.run().await.unwrap().sections().count(), 0);
        assert_eq!((tried.load(Ordering::SeqCst), status(&bench.only_run()).as_str()), (expected, "failed"));
    }
}

#[tokio::test(start_paused = true)]
async fn all_attempts_together_have_one_timeout() {
    let tried = Arc::default();
    let hook = subscription("h", failing(9, &tried)).retries(THREE).timeout(Duration::from_secs(2));
    let bench = bench([hook]);
    let started = Instant::now();
    bench.run().await.unwrap();
    // After the second attempt no time is left for the pause. The hook has failed then, rather than timed out.
    assert_eq!((tried.load(Ordering::SeqCst), status(&bench.only_run()).as_str()), (2, "failed"));
    assert_eq!(started.elapsed(), Duration::from_secs(1));
}
