//! Hooks with scripted behavior, and a runtime for them.

use std::sync::Arc;
use std::time::Duration;

use hooks::{
    Contribution, ContributionKind, Hook, HookContext, HookFailure, HookLimits, HookPackage, HookRegistry,
    HookResult, HookRun, HookRuntime, HookSubscription, MemoryRecorder, Phase, PromptSection, TurnContext,
};
use protocol::{ThreadId, ThreadMode, TurnScope, WorkspaceId};
use strum::VariantArray as _;
use tokio::time::sleep;

/// The phase of most tests.
pub(crate) const PHASE: Phase = Phase::PrePromptCompile;

/// Behavior of a hook.
#[derive(Debug, Clone)]
pub(crate) enum Does {
    Return(Vec<Contribution>),
    ReturnAfter(Duration, Vec<Contribution>),
    Fail(&'static str),
    Panic(&'static str),
    Hang,
}

impl Hook for Does {
    async fn run(&self, _: HookContext) -> HookResult {
        match self {
            Self::Return(contributions) => Ok(contributions.clone()),
            Self::ReturnAfter(time, contributions) => {
                sleep(*time).await;
                Ok(contributions.clone())
            }
            Self::Fail(message) => Err(HookFailure::new(*message)),
            Self::Panic(message) => panic!("{message}"),
            Self::Hang => std::future::pending().await,
        }
    }
}

/// Returns a section whose ids are equal.
pub(crate) fn section(id: &str, content: &str) -> Contribution {
    PromptSection::new(id, id, id, content).into()
}

/// Returns a subscription that may contribute everything.
pub(crate) fn subscription(id: &str, does: impl Hook) -> HookSubscription {
    HookSubscription::new(id, PHASE, does).may_contribute(ContributionKind::VARIANTS.iter().copied())
}

/// Returns the context of a turn without a user.
pub(crate) fn turn() -> Arc<TurnContext> {
    // Fresh ids for every turn, so that records of concurrent tests cannot be confused.
    let scope = TurnScope {
        turn_id: Some("turn-1".parse().unwrap()),
        mode: ThreadMode::Agent,
        ..TurnScope::new(WorkspaceId::new(), ThreadId::new())
    };
    Arc::new(TurnContext::new(scope))
}

/// A runtime with its records.
pub(crate) struct Bench {
    pub(crate) runtime: HookRuntime,
    pub(crate) recorder: Arc<MemoryRecorder>,
}

/// Creates a runtime with one package of subscriptions.
pub(crate) fn bench(subscriptions: impl IntoIterator<Item = HookSubscription>) -> Bench {
    bench_with(HookLimits::default(), subscriptions)
}

pub(crate) fn bench_with(
    limits: HookLimits,
    subscriptions: impl IntoIterator<Item = HookSubscription>,
) -> Bench {
    let package = subscriptions.into_iter().fold(HookPackage::new("package", "domain"), HookPackage::with);
    let mut registry = HookRegistry::new();
    registry.register(package).unwrap();
    let recorder = Arc::new(MemoryRecorder::default());
    Bench { runtime: HookRuntime::new(registry, recorder.clone(), limits), recorder }
}

impl Bench {
    pub(crate) async fn run(&self) -> Result<hooks::PhaseOutcome, hooks::HookError> {
        self.runtime.run_phase(PHASE, turn()).await
    }

    pub(crate) fn only_run(&self) -> HookRun {
        let runs = self.recorder.runs();
        assert_eq!(runs.len(), 1, "{runs:#?}");
        runs.into_iter().next().unwrap()
    }

    /// Returns the records as `subscription status`.
    pub(crate) fn statuses(&self) -> Vec<String> {
        self.recorder.runs().iter().map(|run| format!("{} {}", run.subscription_id, status(run))).collect()
    }
}

/// Returns a record's status in its serialised form.
pub(crate) fn status(run: &HookRun) -> String {
    serde_json::to_value(run.status).unwrap().as_str().unwrap().to_owned()
}
