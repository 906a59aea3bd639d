//! The merge order depends on declarations, not on registration or speed.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use hooks::{
    ContributionKind, HookContext, HookLimits, HookPackage, HookRegistry, HookRuntime, HookSubscription,
    MemoryRecorder, Phase, Policy, TurnContext,
};
use proptest::prelude::*;
use protocol::TurnScope;
use tokio::sync::Barrier;
use tokio::time::Instant;

use crate::behaviour::{Does, PHASE, bench, bench_with, section, subscription, turn};

#[derive(Debug, Clone)]
struct Described {
    id: String,
    priority: i32,
    after: Vec<String>,
    millis: u64,
}

/// Hooks that run after some of those with a smaller number.
fn described() -> impl Strategy<Value = Vec<Described>> {
    let one = (-1..2, proptest::collection::vec(any::<prop::sample::Index>(), 0..3), 0_u64..500);
    proptest::collection::vec(one, 1..8).prop_map(|hooks| {
        let name = |index: usize| format!("hook{index}");
        hooks
            .into_iter()
            .enumerate()
            .map(|(index, (priority, after, millis))| Described {
                id: name(index),
                priority,
                after: if index == 0 {
                    vec![]
                } else {
                    after.iter().map(|other| name(other.index(index))).collect()
                },
                millis,
            })
            .collect()
    })
}

/// Returns the order in which contributions and records come out.
fn outcome(hooks: &[Described], limits: HookLimits) -> (Vec<String>, Vec<String>) {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    runtime.block_on(async {
        let package = hooks.iter().fold(HookPackage::new("package", "domain"), |package, hook| {
            let does = Does::ReturnAfter(Duration::from_millis(hook.millis), vec![section(&hook.id, "")]);
            let subscription = subscription(&hook.id, does).priority(hook.priority);
            package.with(hook.after.iter().fold(subscription, HookSubscription::after))
        });
        let mut registry = HookRegistry::new();
        registry.register(package).unwrap();
        let recorder = Arc::new(MemoryRecorder::default());
        let runtime = HookRuntime::new(registry, recorder.clone(), limits);
        let outcome = runtime.run_phase(PHASE, turn()).await.unwrap();
        let contributed = outcome.contributions.into_iter().map(|contributed| contributed.hook_id).collect();
        (contributed, recorder.runs().into_iter().map(|run| run.hook_id).collect())
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn order_ignores_registration_and_speed(
        (hooks, shuffled) in described().prop_flat_map(|hooks| (Just(hooks.clone()), Just(hooks).prop_shuffle())),
        speeds in proptest::collection::vec(0_u64..500, 8),
        concurrent in 1_usize..9,
    ) {
        // The reference order. Every permutation, speed and limit below must reproduce it.
        let (contributed, recorded) = outcome(&hooks, HookLimits::default());
        prop_assert_eq!(&contributed, &recorded);
        let mut other = shuffled;
        for (hook, millis) in other.iter_mut().zip(speeds) {
            hook.millis = millis;
        }
        let limits = HookLimits { concurrent, ..HookLimits::default() };
        prop_assert_eq!(&outcome(&other, limits).0, &contributed);
        let position = |id: &String| contributed.iter().position(|other| other == id).unwrap();
        for hook in &hooks {
            for before in &hook.after {
                prop_assert!(position(before) < position(&hook.id));
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn hooks_of_a_batch_run_at_the_same_time() {
    // No hook passes the barrier until all three run, so running them one by one would time out.
    let barrier = Arc::new(Barrier::new(3));
    let meet = |id: &str| {
        let barrier = barrier.clone();
        subscription(id, move |_: HookContext| {
            let barrier = barrier.clone();
            async move {
                barrier.wait().await;
                Ok(vec![])
            }
        })
    };
    let bench = bench([meet("a"), meet("b"), meet("c")]);
    assert_eq!(bench.run().await.unwrap().diagnostics, vec![]);
}

#[tokio::test(start_paused = true)]
async fn no_more_run_than_may() {
    let running = Arc::new(AtomicUsize::new(0));
    let hook = |index: usize| {
        let running = running.clone();
        subscription(&format!("hook{index}"), move |_: HookContext| {
            let running = running.clone();
            async move {
                // A failed assertion is a panic of the hook, which the test sees as a diagnostic.
                assert!(running.fetch_add(1, Ordering::SeqCst) < 3);
                tokio::time::sleep(Duration::from_secs(1)).await;
                running.fetch_sub(1, Ordering::SeqCst);
                Ok(vec![])
            }
        })
    };
    let limits = HookLimits { concurrent: 3, ..HookLimits::default() };
    let bench = bench_with(limits, (0..9).map(hook));
    let before = Instant::now();
    assert_eq!(bench.run().await.unwrap().diagnostics, vec![]);
    assert_eq!(before.elapsed().as_secs(), 3, "nine hooks, three at a time, a second each");
}

#[tokio::test(start_paused = true)]
async fn a_hook_starts_when_those_before_it_have_ended() {
    let first = Does::ReturnAfter(Duration::from_secs(1), vec![]);
    // The higher priority must not move `b` before `a`. Time is paused, so the duration reveals the batches
    // exactly.
    let bench = bench([
        subscription("b", Does::ReturnAfter(Duration::from_secs(1), vec![])).after("a").priority(9),
        subscription("a", first),
        subscription("slow", Does::ReturnAfter(Duration::from_millis(1500), vec![])),
    ]);
    let before = Instant::now();
    bench.run().await.unwrap();
    assert_eq!(before.elapsed().as_millis(), 2500, "a and slow together, then b");
    assert_eq!(bench.statuses(), ["a completed", "b completed", "slow completed"]);
}

#[tokio::test]
async fn a_phase_without_hooks_is_empty() {
    let bench = bench([]);
    assert_eq!(bench.run().await.unwrap(), hooks::PhaseOutcome::default());
    assert_eq!(bench.recorder.runs(), vec![]);
}

#[tokio::test]
async fn a_hook_sees_the_turn_context() {
    let hook = |context: HookContext| async move {
        assert_eq!(context.phase, PHASE);
        assert!(context.deadline > Instant::now());
        let turn = &context.turn;
        assert!(turn.scope.turn_id.is_none() && turn.earlier.is_empty());
        let directory = turn.scope.directory.as_ref().unwrap().display();
        let touched = turn.touched_paths[0].display();
        let actor = turn.scope.actor.as_deref().unwrap();
        let text = format!(
            "{} {} {:?} {directory} {touched} {actor}",
            turn.scope.workspace_id, turn.scope.thread_id, turn.scope.mode
        );
        Ok(vec![section("s", &text)])
    };
    let hook = HookSubscription::new("hook", PHASE, hook).may_contribute([ContributionKind::PromptSection]);
    let bench = bench([hook]);
    let scope = TurnScope {
        directory: Some("/repo/a".into()),
        actor: Some("ada".to_owned()),
        ..TurnScope::new("w".parse().unwrap(), "t".parse().unwrap())
    };
    let touched_paths = vec!["/repo/a/b.rs".into()];
    let turn = TurnContext { touched_paths, ..TurnContext::new(scope) };
    let outcome = bench.runtime.run_phase(PHASE, Arc::new(turn)).await.unwrap();
    assert_eq!(outcome.sections().next().unwrap().1.content, "w t Chat /repo/a /repo/a/b.rs ada");
}

#[tokio::test]
async fn a_later_phase_sees_what_earlier_ones_contributed() {
    let decides = HookSubscription::new("decides", Phase::PrePolicy, |_: HookContext| async {
        Ok(vec![Policy::new("depth", 2).into()])
    });
    let reads = HookSubscription::new("reads", PHASE, |context: HookContext| async move {
        let earlier = context.turn.earlier.iter();
        let found = earlier.map(|it| format!("{} {:?}", it.hook_id, it.contribution.id()));
        Ok(vec![section("s", &found.collect::<Vec<_>>().join(","))])
    });
    let kinds = [ContributionKind::Policy, ContributionKind::PromptSection];
    let bench = bench([decides.may_contribute(kinds), reads.may_contribute(kinds)]);
    let first = bench.runtime.run_phase(Phase::PrePolicy, turn()).await.unwrap();
    let later = TurnContext { earlier: first.contributions, ..TurnContext::clone(&turn()) };
    let outcome = bench.runtime.run_phase(PHASE, Arc::new(later)).await.unwrap();
    assert_eq!(outcome.sections().next().unwrap().1.content, "decides Some(\"depth\")");
}
