//! Resolves a chain, cold and warm, compared with its bare system calls and with Codex's algorithm.

use instructions::{Cache, resolve};
use measure::{Comparison, Effort, Rounds};

use crate::bare::Calls;
use crate::fixture::Project;
use crate::on_a_runtime;

const DEPTHS: [usize; 3] = [2, 8, 32];

pub(crate) fn measure(effort: Effort) -> anyhow::Result<()> {
    let runtime = measure::tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let rounds = Rounds { warm_up: effort.choose(5, 200), measured: effort.choose(50, 3_000) };
    for depth in DEPTHS {
        let project = Project::create(depth)?.settle();
        let request = project.request();
        let expected = resolve(&request, None)?;
        anyhow::ensure!(expected.files.len() == depth + 2, "every file is used");

        let mut bare = Calls::cold(&project);
        let figures = runtime.block_on(
            Comparison::against("bare system calls", async || bare.run())
                .with("resolve, no cache", async || resolve(&request, None).map(drop).map_err(Into::into))
                .with("resolve, empty cache", async || {
                    resolve(&request, Some(&Cache::new())).map(drop).map_err(Into::into)
                })
                .with("probes on a runtime, as Codex", async || {
                    on_a_runtime::resolve(&project).await.map(drop)
                })
                .run(rounds),
        )?;
        println!("## Depth {depth}, cold\n\n{figures}");

        let cache = Cache::new();
        resolve(&request, Some(&cache))?;
        let mut bare = Calls::warm(&project);
        let figures = runtime.block_on(
            Comparison::against("bare stats", async || bare.run())
                .with("resolve, warm cache", async || {
                    resolve(&request, Some(&cache)).map(drop).map_err(Into::into)
                })
                .with("probes on a runtime, as Codex", async || {
                    on_a_runtime::resolve(&project).await.map(drop)
                })
                .run(rounds),
        )?;
        println!("## Depth {depth}, warm\n\n{figures}");
    }
    Ok(())
}
