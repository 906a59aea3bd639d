//! Saves per second by one caller and by many, against the bare transaction on one connection.

use std::time::{Duration, Instant};

use measure::{Effort, Samples, Table, show_count, show_ratio, show_time};
use protocol::Version;
use store::{Scope, Store};
use workload::ACTOR;

use crate::databases::Databases;
use crate::save::BareSaves;

const CALLERS: [usize; 2] = [1, 50];

/// Work done by a number of callers.
struct Done {
    saves_per_second: f64,
    times: Samples,
}

pub(crate) async fn measure(databases: &Databases, effort: Effort) -> anyhow::Result<()> {
    let (rounds, time) = effort.choose((1, Duration::from_millis(200)), (5, Duration::from_secs(2)));
    let fresh_for_bare = databases.fresh("bare-callers")?;
    let mut bare = BareSaves::prepare(&fresh_for_bare.database, effort).await?;
    let mut table = Table::new(["saves of one workspace", "a second", "median", "p99", "against bare"]);
    for (part, workspaces) in [("one workspace", 1), ("a workspace each", 50)] {
        let fresh = databases.fresh(&format!("callers-{workspaces}"))?;
        let store = Store::open(&fresh.database).await?;
        let scopes = scopes(&store, workspaces).await?;
        for callers in CALLERS.into_iter().filter(|callers| workspaces == 1 || *callers > 1) {
            let mut before = Vec::new();
            let mut after = Vec::new();
            // Alternating, so that both see the same state of the machine. The first round is a warm-up.
            for round in 0..=rounds {
                let bare = one_caller(&mut bare, time).await?;
                let store = many(&store, &scopes[..callers], time).await?;
                if round > 0 {
                    before.push(bare);
                    after.push(store);
                }
            }
            let before = median(before);
            let after = median(after);
            let ratio = after.saves_per_second / before.saves_per_second;
            table.row(cells("bare transaction, one connection", &before, 1.0));
            table.row(cells(&format!("Store::save_document, {callers} callers, {part}"), &after, ratio));
        }
        store.close().await;
    }
    println!("## {}: saves a second\n\n{table}", databases.name());
    Ok(())
}

fn cells(name: &str, done: &Done, ratio: f64) -> [String; 5] {
    [
        name.to_owned(),
        show_count(done.saves_per_second as u64),
        show_time(done.times.median()),
        show_time(done.times.quantile(0.99)),
        show_ratio(ratio),
    ]
}

fn median(mut rounds: Vec<Done>) -> Done {
    rounds.sort_by(|one, other| one.saves_per_second.total_cmp(&other.saves_per_second));
    rounds.swap_remove(rounds.len() / 2)
}

/// Creates fifty folders with a document each, spread over workspaces.
async fn scopes(store: &Store, workspaces: usize) -> anyhow::Result<Vec<Scope>> {
    let mut scopes = Vec::new();
    let mut workspace_id = workload::workspace(store).await?;
    for number in 0..50 {
        if workspaces > 1 {
            workspace_id = workload::workspace(store).await?;
        }
        let folder_id = workload::folder(store, &workspace_id, None, number).await?;
        let scope = Scope::folder(workspace_id.clone(), folder_id);
        store.save_document(workload::save(scope.clone(), 0), Some(ACTOR)).await?;
        scopes.push(scope);
    }
    Ok(scopes)
}

async fn one_caller(bare: &mut BareSaves, time: Duration) -> anyhow::Result<Done> {
    let begun = Instant::now();
    let mut times = Vec::new();
    while begun.elapsed() < time {
        let save = Instant::now();
        bare.save().await?;
        times.push(save.elapsed());
    }
    Ok(Done::new(times, begun))
}

async fn many(store: &Store, scopes: &[Scope], time: Duration) -> anyhow::Result<Done> {
    let begun = Instant::now();
    let mut callers = tokio::task::JoinSet::new();
    for scope in scopes {
        let store = store.clone();
        let scope = scope.clone();
        callers.spawn(async move {
            let mut times = Vec::new();
            let mut newest = Version(0);
            while begun.elapsed() < time {
                let save = Instant::now();
                let text = workload::save(scope.clone(), begun.elapsed().as_nanos() as u64 | 1);
                let saved = store.save_document(text, Some(ACTOR)).await?;
                anyhow::ensure!(std::mem::replace(&mut newest, saved.version) < saved.version);
                times.push(save.elapsed());
            }
            Ok(times)
        });
    }
    let times = callers.join_all().await.into_iter().collect::<anyhow::Result<Vec<_>>>()?;
    Ok(Done::new(times.concat(), begun))
}

impl Done {
    fn new(times: Vec<Duration>, begun: Instant) -> Self {
        let saves_per_second = times.len() as f64 / begun.elapsed().as_secs_f64();
        Self { saves_per_second, times: Samples::new(times) }
    }
}
