//! The memory of turns whose model is silent, against that of the bare requests.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use client::{Client, Target};
use measure::{Effort, ResidentMemory, Table, show_bytes, show_ratio};
use scripted_model::{Answer, ScriptedModel, Wire};

use crate::child::Process;
use crate::model::text;
use crate::talker::Talker;

/// Answers before the model falls silent, so that what is needed once is not counted. One after another: what many at
/// once would leave behind could be used again, and hide what they need.
const WARM_UPS: usize = 20;
const PATIENCE: Duration = Duration::from_secs(60);
/// Time for unused memory to be returned to the system.
const REST: Duration = Duration::from_millis(500);

pub(crate) async fn measure(effort: Effort) -> anyhow::Result<()> {
    let turns = effort.choose(20, 200);
    let mut table = Table::new(["resident memory", "idle", "waiting", "for each", "ratio"]);
    let alone = of_requests(turns).await?;
    let gateway = of_turns(turns).await?;
    for (name, Memory { idle, waiting }) in [("provider crate", alone), ("gateway", gateway)] {
        let each = |memory: Memory| memory.waiting.saturating_sub(memory.idle) / turns as u64;
        let own = each(Memory { idle, waiting });
        let ratio = show_ratio(own as f64 / each(alone) as f64);
        table.row([name.to_owned(), show_bytes(idle), show_bytes(waiting), show_bytes(own), ratio]);
    }
    println!("## {turns} turns that wait for a silent model\n\n{table}");
    Ok(())
}

/// Bytes of a process.
#[derive(Clone, Copy)]
struct Memory {
    idle: u64,
    waiting: u64,
}

/// Requests of the provider crate alone.
async fn of_requests(turns: usize) -> anyhow::Result<Memory> {
    let model = Silent::after(WARM_UPS).await?;
    let mut process = Process::start("--ask", std::path::Path::new("."), &model.url())?;
    let memory = ResidentMemory::of(process.id());
    for number in 1..=WARM_UPS {
        process.tell("1")?;
        model.until_asked(number).await?;
    }
    // The allocator returns memory with a delay, and the baseline must not include what the warm-up has freed.
    tokio::time::sleep(REST).await;
    let idle = memory.now()?;
    process.tell(&turns.to_string())?;
    model.until_asked(WARM_UPS + turns).await?;
    tokio::time::sleep(REST).await;
    Ok(Memory { idle, waiting: memory.now()? })
}

/// Turns of a gateway, all started over one connection.
async fn of_turns(turns: usize) -> anyhow::Result<Memory> {
    let model = Silent::after(WARM_UPS).await?;
    let data = tempfile::tempdir()?;
    let process = Process::start("--serve", data.path(), &model.url())?;
    let client = Client::connect(&Target::Local { data: data.path().to_owned() }).await?;
    let mut talker = Talker::new(client, WARM_UPS + turns).await?;
    let memory = ResidentMemory::of(process.id());
    for _ in 0..WARM_UPS {
        let thread = talker.next_thread()?;
        talker.ask(&thread, &text(0)).await?;
    }
    tokio::time::sleep(REST).await;
    let idle = memory.now()?;
    for _ in 0..turns {
        let thread = talker.next_thread()?;
        talker.start(&thread, &text(0)).await?;
    }
    model.until_asked(WARM_UPS + turns).await?;
    tokio::time::sleep(REST).await;
    Ok(Memory { idle, waiting: memory.now()? })
}

/// A model that stops answering after a number of requests.
struct Silent {
    model: ScriptedModel,
    asked: Arc<AtomicUsize>,
}

impl Silent {
    async fn after(answers: usize) -> anyhow::Result<Self> {
        let model = ScriptedModel::start().await?;
        let asked = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&asked);
        model.answer_by(move |_| match count.fetch_add(1, Ordering::SeqCst) {
            number if number < answers => Answer::text("Yes."),
            _ => Answer::silence(),
        });
        Ok(Self { model, asked })
    }

    fn url(&self) -> String {
        self.model.base_url(Wire::Anthropic)
    }

    async fn until_asked(&self, count: usize) -> anyhow::Result<()> {
        let begun = Instant::now();
        while self.asked.load(Ordering::SeqCst) < count {
            anyhow::ensure!(begun.elapsed() < PATIENCE, "the model was not asked {count} times");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        Ok(())
    }
}
