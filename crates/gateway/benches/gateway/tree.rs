//! `thread/tree` of a large workspace over a WebSocket: where the time goes, and the gateway's memory.

use std::path::Path;
use std::time::Duration;

use client::{Client, Target};
use measure::{
    Comparison, Effort, Figures, ResidentMemory, Rounds, Table, show_bytes, show_count, show_ratio, show_time,
};
use protocol::local::DATABASE_FILE;
use protocol::method::{ThreadList, ThreadListParams, ThreadTree, ThreadTreeParams};
use protocol::{FolderId, Method as _, WorkspaceId};
use store::{Database, Scope, Store};
use workload::{self, ACTOR};

use crate::serve::Served;

const STORE: &str = "Store::tree_json";
const JSON: &str = "JSON serialisation";
const RAW: &str = "thread/tree, as text";
const TYPED: &str = "thread/tree, parsed";
const FIRST_SCREEN: &str = "thread/tree, two levels, 20 threads a folder";
const PAGE: &str = "thread/list, 50 threads";

/// Size of a large workspace.
#[derive(Clone, Copy)]
struct Size {
    folders: usize,
    threads: usize,
    documents: usize,
}

const FULL: Size = Size { folders: 10_000, threads: 100_000, documents: 1_000 };
const QUICK: Size = Size { folders: 100, threads: 1_000, documents: 10 };

pub(crate) async fn measure(effort: Effort) -> anyhow::Result<()> {
    let size = effort.choose(QUICK, FULL);
    let data = tempfile::tempdir()?;
    let database = data.path().join(DATABASE_FILE);
    let workspace_id = fill(&database, size).await?;
    let served = Served::start(data.path())?;
    let client = Client::connect(&Target::Local { data: data.path().to_owned() }).await?;
    let params = ThreadTreeParams::whole(workspace_id.clone());
    let memory = Memory::of_first_answer(&served, &client, &params).await?;

    let store = Store::open(&Database::Sqlite(database)).await?;
    let tree = store.tree_part(params.clone()).await?;
    let first_screen = ThreadTreeParams { depth: Some(2), thread_limit: Some(20), ..params.clone() };
    let folder_id = tree.folders.first().map(|folder| folder.id.clone());
    let page = ThreadListParams { workspace_id: workspace_id.clone(), folder_id, after: None, limit: 50 };
    let figures = Comparison::against(JSON, async || {
        std::hint::black_box(serde_json::to_vec(&tree)?);
        Ok(())
    })
    .with(STORE, async || {
        std::hint::black_box(store.tree_json(&workspace_id).await?);
        Ok(())
    })
    .with(RAW, async || {
        std::hint::black_box(client.caller().call_raw(ThreadTree::NAME, &params).await?);
        Ok(())
    })
    .with(TYPED, async || {
        std::hint::black_box(client.call::<ThreadTree>(&params).await?);
        Ok(())
    })
    .with(FIRST_SCREEN, async || {
        std::hint::black_box(client.call::<ThreadTree>(&first_screen).await?);
        Ok(())
    })
    .with(PAGE, async || {
        std::hint::black_box(client.call::<ThreadList>(&page).await?);
        Ok(())
    })
    .run(Rounds { warm_up: effort.choose(1, 2), measured: effort.choose(3, 15) })
    .await?;
    store.close().await;

    println!(
        "## thread/tree over a WebSocket: {} folders, {} threads, {} documents, {}\n\n{figures}\n{}\n{}",
        show_count(size.folders as u64),
        show_count(size.threads as u64),
        show_count(size.documents as u64),
        show_bytes(memory.answer),
        split(&figures),
        memory.table(),
    );
    Ok(())
}

/// Prints the parts of an answer's time; transfer is the remainder.
fn split(figures: &Figures) -> Table<3> {
    let median = |name: &str| figures.of(name).median();
    let store = median(STORE);
    let json = median(JSON);
    let raw = median(RAW);
    let typed = median(TYPED);
    let transfer = raw.saturating_sub(store + json);
    let mut table = Table::new(["of an answer", "", "share"]);
    let mut row = |name: &str, time: Duration| {
        let share = show_ratio(time.as_secs_f64() / raw.as_secs_f64());
        table.row([name.to_owned(), show_time(time), share]);
    };
    row("store", store);
    row("serialisation", json);
    row("transfer (socket, frames, envelope)", transfer);
    row("(after it: parsing by the client)", typed.saturating_sub(raw));
    table
}

/// Fills a workspace through the store. Each row is a transaction of its own, so this is done where nothing waits
/// for a disk, if the machine has such a place.
async fn fill(database: &Path, size: Size) -> anyhow::Result<WorkspaceId> {
    let in_memory = Path::new("/dev/shm");
    let scratch = if in_memory.is_dir() { tempfile::tempdir_in(in_memory)? } else { tempfile::tempdir()? };
    let file = scratch.path().join(DATABASE_FILE);
    let store = Store::open(&Database::Sqlite(file.clone())).await?;
    let workspace_id = workload::workspace(&store).await?;
    let mut folders: Vec<FolderId> = Vec::with_capacity(size.folders);
    for number in 0..size.folders {
        let parent = folders.get(number / 10);
        folders.push(workload::folder(&store, &workspace_id, parent, number).await?);
    }
    for number in 0..size.threads {
        workload::thread(&store, &workspace_id, folders.get(number % size.folders), number).await?;
    }
    for (number, folder) in (0..).zip(folders.into_iter().take(size.documents)) {
        let scope = Scope::folder(workspace_id.clone(), folder);
        store.save_document(workload::save(scope, number), Some(ACTOR)).await?;
    }
    store.close().await;
    std::fs::copy(file, database)?;
    Ok(workspace_id)
}

/// The memory of a gateway around its first large answer.
struct Memory {
    before: u64,
    peak: u64,
    after: u64,
    /// Bytes of the answer.
    answer: u64,
}

impl Memory {
    async fn of_first_answer(
        served: &Served,
        client: &Client,
        params: &ThreadTreeParams,
    ) -> anyhow::Result<Self> {
        let memory = ResidentMemory::of(served.process_id());
        let before = memory.now()?;
        let answer = client.caller().call_raw(ThreadTree::NAME, params).await?.get().len() as u64;
        Ok(Self { before, peak: memory.peak()?, after: memory.now()?, answer })
    }

    fn table(&self) -> Table<3> {
        let mut table = Table::new(["the gateway's resident memory", "", "over the start"]);
        for (name, bytes) in
            [("before", self.before), ("peak while it answers", self.peak), ("after", self.after)]
        {
            table.row([name.to_owned(), show_bytes(bytes), show_bytes(bytes.saturating_sub(self.before))]);
        }
        table
    }
}
