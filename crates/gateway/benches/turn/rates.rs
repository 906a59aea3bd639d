//! Turns a second, one after another and fifty concurrently, compared with the provider crate alone.

use std::sync::Arc;

use futures_util::future::try_join_all;
use gateway::Database;
use measure::{Comparison, Effort, Figures, Rounds, Table, show_count, show_ratio};
use provider::{ChatRequest, Message, Provider};
use scripted_model::{Answer, ScriptedModel};
use test_gateway::TestGateway;
use test_postgres::{Durability, Options};
use tokio::sync::Mutex;
use tokio::task::JoinSet;

use crate::model::{self, MODEL};
use crate::talker::Talker;

const MANY: usize = 50;
/// Turns per thread. Further turns use a new one, so that no thread grows with the length of the run.
const TURNS_EACH: usize = 4;
/// Turns of each row in one round.
const TURNS: usize = MANY * TURNS_EACH;

const ALONE_ONE: &str = "provider crate, 1 caller";
const ALONE_MANY: &str = "provider crate, 50 callers";
/// The rows of each database: one thread, and fifty.
const DATABASES: [[&str; 2]; 2] =
    [["SQLite, 1 thread", "SQLite, 50 threads"], ["PostgreSQL, 1 thread", "PostgreSQL, 50 threads"]];

pub(crate) async fn measure(effort: Effort) -> anyhow::Result<()> {
    let rounds = Rounds { warm_up: 1, measured: effort.choose(1, 11) };
    let model = ScriptedModel::start().await?;
    model.answer_by(|_| Answer::text("Yes."));
    let provider = model::provider(&model)?;

    let mut databases = vec![None];
    // With full durability, PostgreSQL waits for the disk at each commit, as SQLite does.
    let cluster = test_postgres::test_cluster(Options { durability: Durability::Full });
    if let Some(cluster) = &cluster {
        databases.push(Some(cluster.create_database()?.parse::<Database>()?));
    }
    let mut halls = Vec::new();
    for (database, names) in databases.into_iter().zip(DATABASES) {
        halls.push((names, Hall::open(database, &provider, rounds).await?));
    }

    let mut comparison = Comparison::against(ALONE_ONE, async || alone(&provider, 1).await)
        .with(ALONE_MANY, async || alone(&provider, MANY).await);
    for (names, hall) in &halls {
        comparison = comparison
            .with(names[0], async || together(std::slice::from_ref(&hall.one)).await)
            .with(names[1], async || together(&hall.many).await);
    }
    let figures = comparison.run(rounds).await?;
    let shown = halls.iter().map(|(names, _)| *names);
    println!("## Turns a second, {TURNS_EACH} in each thread\n\n{}", rates(&figures, shown));
    for (_, hall) in halls {
        hall.close().await?;
    }
    Ok(())
}

fn rates(figures: &Figures, databases: impl Iterator<Item = [&'static str; 2]>) -> Table<3> {
    let seconds = |name: &str| figures.of(name).median().as_secs_f64();
    let mut table = Table::new(["", "turns/s", "of the provider's"]);
    let alone = [ALONE_ONE, ALONE_MANY];
    for names in std::iter::once(alone).chain(databases) {
        for (name, provider) in names.into_iter().zip(alone) {
            let rate = TURNS as f64 / seconds(name);
            let share = seconds(provider) / seconds(name);
            table.row([name.to_owned(), show_count(rate as u64), show_ratio(share)]);
        }
    }
    table
}

/// A gateway and its clients.
struct Hall {
    gateway: TestGateway,
    one: Arc<Mutex<Talker>>,
    many: Vec<Arc<Mutex<Talker>>>,
}

impl Hall {
    async fn open(database: Option<Database>, provider: &Provider, rounds: Rounds) -> anyhow::Result<Self> {
        let gateway = TestGateway::start_with(|settings| {
            settings.database = database;
            model::install(settings, provider.clone());
        })
        .await?;
        let rounds = rounds.warm_up + rounds.measured;
        let talker = async |threads: usize| {
            anyhow::Ok(Arc::new(Mutex::new(Talker::new(gateway.owner().await?, threads).await?)))
        };
        let one = talker(MANY * rounds).await?;
        let many = try_join_all((0..MANY).map(|_| talker(rounds))).await?;
        Ok(Self { one, many, gateway })
    }

    async fn close(self) -> anyhow::Result<()> {
        // Clients leave first, or the shutdown would wait for their connections.
        drop((self.one, self.many));
        self.gateway.stop().await?;
        Ok(())
    }
}

/// Runs [`TURNS`] turns, with all talkers concurrently.
async fn together(talkers: &[Arc<Mutex<Talker>>]) -> anyhow::Result<()> {
    let threads = MANY / talkers.len();
    let mut running = JoinSet::new();
    for talker in talkers {
        let talker = Arc::clone(talker);
        running.spawn(async move {
            let mut talker = talker.lock().await;
            for _ in 0..threads {
                let thread = talker.next_thread()?;
                for _ in 0..TURNS_EACH {
                    talker.ask(&thread, "Is it so?").await?;
                }
            }
            anyhow::Ok(())
        });
    }
    while let Some(finished) = running.join_next().await {
        finished??;
    }
    Ok(())
}

/// Asks the model [`TURNS`] times, with `callers` concurrent callers.
async fn alone(provider: &Provider, callers: usize) -> anyhow::Result<()> {
    let mut running = JoinSet::new();
    for _ in 0..callers {
        let provider = provider.clone();
        running.spawn(async move {
            let request = ChatRequest::new(MODEL, vec![Message::user("Is it so?")]);
            for _ in 0..TURNS / callers {
                provider.complete(&request).await?;
            }
            anyhow::Ok(())
        });
    }
    while let Some(finished) = running.join_next().await {
        finished??;
    }
    Ok(())
}
