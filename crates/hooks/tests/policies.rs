//! Every execution and failure policy with every way a hook can end.

use std::time::Duration;

use hooks::{
    BackgroundJob, Contribution, Execution, FailureCause, FailurePolicy, HookError, HookFailure, Visibility,
};
use serde_json::json;
use tokio::time::Instant;

use crate::behaviour::{Does, PHASE, bench, section, status, subscription};

fn endings() -> [(&'static str, Does); 4] {
    [
        ("ok", Does::Return(vec![section("s", "mine")])),
        ("error", Does::Fail("no luck")),
        ("panic", Does::Panic("oh no")),
        ("hang", Does::Hang),
    ]
}

/// Describes one run as `status; contents; diagnostic codes`, or returns the cause of the error.
async fn outcome(execution: Execution, failure: FailurePolicy, does: Does) -> String {
    let fallback = if failure == FailurePolicy::Fallback { vec![section("s", "fallback")] } else { vec![] };
    let bench = bench([subscription("hook", does).execution(execution).fallback(fallback).failure(failure)]);
    let before = Instant::now();
    let result = bench.run().await;
    assert!(before.elapsed() <= execution.default_timeout(), "a phase ends in bounded time");
    let run = bench.only_run();
    assert_eq!(run.turn_id.as_ref().map(|id| id.as_str()), Some("turn-1"));
    match result {
        Ok(outcome) => {
            let contents: Vec<_> = outcome.sections().map(|(_, section)| section.content.as_str()).collect();
            let codes: Vec<_> = outcome.diagnostics.iter().map(|diagnostic| diagnostic.code.name()).collect();
            assert_eq!(run.error_preview.is_some(), run.status != hooks::RunStatus::Completed);
            format!("{}; {}; {}", status(&run), contents.join(","), codes.join(","))
        }
        Err(error) => {
            let HookError::Failed { hook_id, phase, cause, .. } = &error else { panic!("{error}") };
            assert_eq!((hook_id.as_str(), *phase), ("hook", PHASE));
            let text = error.to_string();
            assert!(text.contains("`hook`") && text.contains("turn.pre_prompt_compile"), "{text}");
            format!("{}; {cause:?}", status(&run))
        }
    }
}

#[tokio::test(start_paused = true)]
async fn every_failure_policy_with_every_ending() {
    let table = [
        (
            FailurePolicy::FailClosed,
            ["completed; mine; ", "failed; Error", "panicked; Panic", "timed_out; Timeout"],
        ),
        (
            FailurePolicy::Fallback,
            [
                "completed; mine; ",
                "fell_back; fallback; hook_failed",
                "fell_back; fallback; hook_failed",
                "fell_back; fallback; hook_timed_out",
            ],
        ),
        (
            FailurePolicy::BestEffort,
            [
                "completed; mine; ",
                "failed; ; hook_failed",
                "panicked; ; hook_failed",
                "timed_out; ; hook_timed_out",
            ],
        ),
        (FailurePolicy::Skip, ["completed; mine; ", "skipped; ; ", "skipped; ; ", "skipped; ; "]),
    ];
    // The two only differ in their default timeout, so the table holds for both.
    for execution in [Execution::Blocking, Execution::Deadline] {
        for (failure, expected) in table {
            for ((name, does), expected) in endings().into_iter().zip(expected) {
                let answer = outcome(execution, failure, does).await;
                assert_eq!(answer, expected, "{execution:?} {failure:?} {name}");
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn every_ending_in_the_background() {
    let job = |kind: &str| Contribution::from(BackgroundJob { kind: kind.into(), payload: json!(null) });
    for (failure, expected) in [
        (
            FailurePolicy::Fallback,
            ["completed mine", "fell_back fallback", "fell_back fallback", "fell_back fallback"],
        ),
        (FailurePolicy::BestEffort, ["completed mine", "failed ", "panicked ", "timed_out "]),
        (FailurePolicy::Skip, ["completed mine", "skipped ", "skipped ", "skipped "]),
    ] {
        for ((name, does), expected) in endings().into_iter().zip(expected) {
            let does = if name == "ok" { Does::Return(vec![job("mine")]) } else { does };
            let fallback = if failure == FailurePolicy::Fallback { vec![job("fallback")] } else { vec![] };
            let hook = subscription("hook", does)
                .may_contribute([hooks::ContributionKind::BackgroundJob])
                .execution(Execution::Background)
                .fallback(fallback)
                .failure(failure);
            let bench = bench([hook]);
            let outcome = bench.run().await.unwrap();
            assert_eq!(outcome, hooks::PhaseOutcome::default(), "nothing reaches the phase");
            bench.runtime.shutdown(Duration::from_secs(100)).await;
            let delivered = bench.recorder.delivered();
            let jobs: Vec<_> = delivered
                .iter()
                .map(|contributed| match &contributed.contribution {
                    Contribution::BackgroundJob(job) => job.kind.as_str(),
                    other => panic!("{other:?}"),
                })
                .collect();
            let answer = format!("{} {}", status(&bench.only_run()), jobs.join(","));
            assert_eq!(answer, expected, "{failure:?} {name}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn late_results_are_dropped() {
    // The default timeout of a deadline hook is one second.
    for (millis, expected) in [(999, 1), (1001, 0)] {
        let does = Does::ReturnAfter(Duration::from_millis(millis), vec![section("s", "")]);
        let bench = bench([subscription("hook", does).execution(Execution::Deadline)]);
        let outcome = bench.run().await.unwrap();
        assert_eq!(outcome.contributions.len(), expected, "after {millis} ms");
        assert_eq!(bench.only_run().duration_us, millis.min(1000) * 1000);
    }
}

#[tokio::test]
async fn a_late_result_counts_as_a_timeout() {
    // The hook blocks the only thread. Once the phase runs again, the result has arrived and the
    // timeout has passed. The timeout must win.
    let blocking = |_| async {
        std::thread::sleep(Duration::from_millis(30));
        Ok(vec![section("s", "")])
    };
    let bench = bench([subscription("hook", blocking).timeout(Duration::from_millis(10))]);
    assert_eq!(bench.run().await.unwrap().contributions, vec![]);
    assert_eq!(status(&bench.only_run()), "timed_out");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_blocking_hook_does_not_hold_up_the_phase() {
    // The hook blocks a worker until the test ends. With two workers the phase can still see its timeout.
    let (release, blocked) = std::sync::mpsc::channel::<()>();
    let blocked = std::sync::Arc::new(std::sync::Mutex::new(blocked));
    let blocking = move |_| {
        let blocked = blocked.clone();
        async move {
            let _ = blocked.lock().unwrap().recv();
            Ok(vec![])
        }
    };
    let bench = bench([subscription("hook", blocking).timeout(Duration::from_millis(20))]);
    // Run the phase in its own task, so that it shares the workers with the hook.
    let outcome = tokio::spawn(async move { bench.run().await.unwrap() }).await.unwrap();
    assert_eq!(outcome.diagnostics[0].code.name(), "hook_timed_out");
    drop(release);
}

#[tokio::test]
async fn previews_name_the_problem_without_secrets() {
    let fails = |_| async { Err(HookFailure::new("401 for key sk-live-abcdefghijkl\nwhat now")) };
    let bench =
        bench([subscription("hook", fails).visibility(Visibility::User).failure(FailurePolicy::FailClosed)]);
    let HookError::Failed { cause, preview, .. } = bench.run().await.unwrap_err() else { panic!() };
    assert_eq!(cause, FailureCause::Error);
    assert_eq!(preview, r"401 for key [redacted]\nwhat now");
    assert_eq!(bench.only_run().error_preview.as_deref(), Some(preview.as_str()));
    assert_eq!(bench.only_run().visibility, Visibility::User);
}

#[tokio::test]
async fn a_panic_without_message_is_recorded() {
    let panics = |_| async { std::panic::panic_any(7_u8) };
    let bench = bench([subscription("hook", panics)]);
    assert_eq!(bench.run().await.unwrap().diagnostics[0].message, "hook `hook`: panicked: no message");
}
