//! Time to the first delta of an answer, through a gateway and of exactly the same request without one.

use std::fs::File;
use std::io::Write as _;
use std::time::{Duration, Instant};

use futures_util::StreamExt as _;
use measure::{Effort, show_bytes};
use provider::{ChatEvent, ChatRequest, ChatStream, Provider};
use scripted_model::{Answer, ScriptedModel};
use test_gateway::TestGateway;

use crate::bare::Bare;
use crate::model::{self, Asked, text};
use crate::request::Same;
use crate::rows::Rows;
use crate::talker::Talker;

/// Turns before the measurement starts.
const WARM_UP: usize = 2;
/// Commits before a turn's first request to the model: its start, and the record of its prompt.
const COMMITS: usize = 2;
/// Approximate size of such a commit in the write-ahead log.
const COMMIT_BYTES: usize = 16 * 1024;
/// Time for the work that a turn leaves for after its end, such as records of hooks.
const REST: Duration = Duration::from_millis(5);

pub(crate) async fn measure(effort: Effort) -> anyhow::Result<()> {
    let samples = effort.choose(3, 200);
    let stage = Stage::new().await?;
    for earlier in [0, 20] {
        stage.compare(earlier, samples).await?;
    }
    stage.gateway.stop().await?;
    Ok(())
}

/// A model, and the two that ask it.
struct Stage {
    model: ScriptedModel,
    asked: Asked,
    provider: Provider,
    gateway: TestGateway,
}

impl Stage {
    async fn new() -> anyhow::Result<Self> {
        let model = ScriptedModel::start().await?;
        let asked = Asked::note(&model, |number| Answer::text(&text(number)));
        let provider = model::provider(&model)?;
        let gateway = TestGateway::start_with(|settings| model::install(settings, provider.clone())).await?;
        Ok(Self { model, asked, provider, gateway })
    }

    /// Compares the ways. Every turn gets a new thread, so that all have the same number of earlier turns.
    async fn compare(&self, earlier: usize, samples: usize) -> anyhow::Result<()> {
        let mut talker = Talker::new(self.gateway.owner().await?, samples + WARM_UP).await?;
        let threads = talker.unused.clone();
        for thread in &threads {
            for number in 0..earlier {
                talker.ask(thread, &text(number)).await?;
            }
        }
        let mut compared = Rows::new(["provider crate", "plain socket", "turn/start"]);
        let mut parts = Rows::new([
            "sent to answered",
            "sent to the model being asked",
            "model being asked to first delta",
            "first delta to turn/completed",
            "two waits for the disk, alone",
        ]);
        let mut log = tempfile::tempfile()?;
        let (before, threads) = threads.split_at(WARM_UP);
        for thread in before {
            talker.ask(thread, &text(0)).await?;
        }
        // The recorded request has the gateway's whole prompt. A smaller one would make the provider crate look faster
        // than it is.
        let same = Same::as_last(&self.model, &self.provider).await?;
        let bare = Bare::new(&self.model, &same.body)?;
        for thread in threads {
            let alone = self.alone(&same.request).await?;
            let plain = self.plain(&bare).await?;
            let heard = talker.ask(thread, &text(0)).await?;
            let asked = self.asked.last();
            tokio::time::sleep(REST).await;
            let waited = wait_for_disk(&mut log)?;
            let first = heard.first()?;
            compared.push([alone, plain, first - heard.sent]);
            parts.push([
                heard.answered - heard.sent,
                asked - heard.sent,
                first - asked,
                heard.completed - first,
                waited,
            ]);
        }
        let gateway = self.gateway.gateway();
        let so_far = gateway.store().statements();
        talker.ask(&before[0], &text(0)).await?;
        tokio::time::sleep(REST).await;
        let now = gateway.store().statements();
        println!(
            "## To the first delta, {earlier} earlier turns, a request of {}\n\n{}\n{}",
            show_bytes(same.body.len() as u64),
            compared.compared(),
            parts.listed("of turn/start"),
        );
        println!(
            "{} statements and {} writing transactions for one more turn, the feed's reading included\n",
            now.statements - so_far.statements,
            now.transactions - so_far.transactions,
        );
        Ok(())
    }

    async fn alone(&self, request: &ChatRequest) -> anyhow::Result<Duration> {
        let begun = Instant::now();
        let mut stream = self.provider.chat(request);
        until_delta(&mut stream).await?;
        let took = begun.elapsed();
        // The rest of the answer is read off the clock, so that it does not run into the next measurement.
        while stream.next().await.transpose()?.is_some() {}
        Ok(took)
    }

    async fn plain(&self, bare: &Bare) -> anyhow::Result<Duration> {
        let begun = Instant::now();
        let connection = bare.first_delta().await?;
        let took = begun.elapsed();
        drop(connection);
        Ok(took)
    }
}

/// Measures the minimum cost of the commits before the first delta.
fn wait_for_disk(log: &mut File) -> anyhow::Result<Duration> {
    let begun = Instant::now();
    for _ in 0..COMMITS {
        log.write_all(&[7; COMMIT_BYTES])?;
        log.sync_data()?;
    }
    Ok(begun.elapsed())
}

async fn until_delta(stream: &mut ChatStream) -> anyhow::Result<()> {
    while let Some(event) = stream.next().await {
        if let ChatEvent::TextDelta { .. } = event? {
            return Ok(());
        }
    }
    anyhow::bail!("the answer had no deltas")
}
