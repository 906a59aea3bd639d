//! Runs fifty hooks that do nothing.

use std::sync::Arc;

use hooks::{
    HookContext, HookLimits, HookPackage, HookRegistry, HookRun, HookRuntime, HookSubscription, Phase,
    Recorder, TurnContext,
};
use measure::tokio;
use measure::{Comparison, Effort, Rounds, show_time};
use protocol::{ThreadId, TurnScope, WorkspaceId};

const HOOKS: u32 = 50;

/// Discards records.
struct Nowhere;

impl Recorder for Nowhere {
    fn record(&self, run: HookRun) {
        std::hint::black_box(run);
    }

    fn deliver(&self, _: &HookRun, _: Vec<hooks::Contributed>) {}
}

pub(crate) async fn measure(effort: Effort) -> anyhow::Result<()> {
    let mut package = HookPackage::new("bench", "bench");
    for index in 0..HOOKS {
        let hook = async |_: HookContext| Ok(Vec::new());
        let hook = move |context: HookContext| hook(context);
        package =
            package.with(HookSubscription::new(format!("hook{index:02}"), Phase::PrePromptCompile, hook));
    }
    let mut registry = HookRegistry::new();
    registry.register(package)?;
    let runtime = HookRuntime::new(registry, Arc::new(Nowhere), HookLimits::default());
    let turn = Arc::new(TurnContext::new(TurnScope::new(WorkspaceId::new(), ThreadId::new())));
    let figures = Comparison::against("50 tasks spawned and awaited", async || {
        let tasks: Vec<_> = (0..HOOKS).map(|_| tokio::spawn(async {})).collect();
        for task in tasks {
            task.await?;
        }
        Ok(())
    })
    .with("a phase with 50 hooks", async || {
        runtime.run_phase(Phase::PrePromptCompile, Arc::clone(&turn)).await?;
        Ok(())
    })
    .with("a phase without hooks", async || {
        runtime.run_phase(Phase::PostTurn, Arc::clone(&turn)).await?;
        Ok(())
    })
    .run(Rounds { warm_up: effort.choose(5, 100), measured: effort.choose(30, 2_000) })
    .await?;
    let each = figures.of("a phase with 50 hooks").median() / HOOKS;
    println!("## Hooks that do nothing\n\n{figures}\n{} a hook.\n", show_time(each));
    Ok(())
}
