//! Short form of `cargo xtask simulate`: a few turns for several seeds.

use stress::simulation::Simulation;

const TURNS: u32 = 60;

async fn run(seed: u64) -> anyhow::Result<()> {
    let report = Simulation { turns: TURNS, seed }.run().await?;
    assert_eq!(report.completed + report.failed + report.cancelled, TURNS);
    // The seeds must include failed turns and multi-round turns, or the run would check too little.
    assert!(report.failed > 0 && report.requests > u64::from(TURNS), "{report}");
    // Providers charge less for a repeated beginning, so a regression here costs users money without breaking anything.
    assert!(report.reuse.share() >= 0.99, "{report}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn requests_hold_with_the_first_seed() -> anyhow::Result<()> {
    run(1).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn requests_hold_with_the_second_seed() -> anyhow::Result<()> {
    run(2).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn requests_hold_with_the_third_seed() -> anyhow::Result<()> {
    run(3).await
}
