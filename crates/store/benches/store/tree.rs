//! The whole tree of a large workspace: reading it, and what else a response needs.

use std::process::Command;

use anyhow::Context as _;
use measure::{Comparison, Effort, ResidentMemory, Rounds, Table, show_bytes, show_count, show_ratio};
use protocol::WorkspaceId;
use protocol::method::{ThreadTreeParams, ThreadTreeResult};
use store::{Database, Store};

use crate::bare::{Bare, values};
use crate::databases::Databases;
use crate::large_tree::Size;

/// The argument that makes this program read a tree once and print its memory use.
// In a new process, because one that has run before reuses freed memory.
pub(crate) const MEMORY_MODE: &str = "--tree-memory";

pub(crate) async fn measure(databases: &Databases, effort: Effort) -> anyhow::Result<()> {
    let size = effort.choose(Size::SMALL, Size::LARGE);
    let fresh = databases.fresh("tree")?;
    let store = Store::open(&fresh.database).await?;
    let workspace_id = workload::workspace(&store).await?;
    let mut bare = Bare::connect(&fresh.database).await?;
    size.fill(&mut bare, &workspace_id).await?;

    let tree = store.tree_part(ThreadTreeParams::whole(workspace_id.clone())).await?;
    let bytes = serde_json::to_vec(&tree)?.len();
    check(&tree, size)?;
    let figures = Comparison::against("JSON serialisation alone", async || {
        std::hint::black_box(serde_json::to_vec(&tree)?);
        Ok(())
    })
    .with("bare SELECTs, rows decoded", async || select(&mut bare, &workspace_id).await)
    .with("Store::tree_json", async || {
        std::hint::black_box(store.tree_json(&workspace_id).await?);
        Ok(())
    })
    .run(Rounds { warm_up: effort.choose(1, 2), measured: effort.choose(5, 20) })
    .await?;
    store.close().await;

    let over_select = figures.of("Store::tree_json").median().as_secs_f64()
        / figures.of("bare SELECTs, rows decoded").median().as_secs_f64();
    println!(
        "## {}: the tree of {} folders, {} threads, {} documents\n\n{figures}\nStore::tree is {} the bare \
         SELECTs; the answer has {}.\n\n{}",
        databases.name(),
        show_count(size.folders),
        show_count(size.threads),
        show_count(size.documents),
        show_ratio(over_select),
        show_bytes(bytes as u64),
        memory_in_new_process(&fresh.database, &workspace_id)?,
    );
    Ok(())
}

fn check(tree: &ThreadTreeResult, size: Size) -> anyhow::Result<()> {
    let counts = [tree.folders.len(), tree.threads.len(), tree.placements.len(), tree.agents_docs.len()];
    let wanted = [size.folders, size.threads, size.threads, size.documents];
    anyhow::ensure!(counts.map(|count| count as u64) == wanted, "the tree holds {counts:?}");
    Ok(())
}

const FOLDERS: &str = "SELECT id, parent_folder_id, name, created_at, updated_at FROM folder
    WHERE workspace_id = $1 AND deleted_at IS NULL ORDER BY id";
const THREADS: &str = "SELECT id, title, mode, created_at, updated_at FROM thread
    WHERE workspace_id = $1 AND archived_at IS NULL ORDER BY id";
const PLACEMENTS: &str = "SELECT p.thread_id, p.folder_id FROM thread_placement p
    JOIN thread t ON p.thread_id = t.id WHERE p.workspace_id = $1 AND t.archived_at IS NULL ORDER BY p.thread_id";
const DOCUMENTS: &str = "SELECT id, folder_id, status, content_sha256, version, char_count, updated_at
    FROM thread_agents_doc WHERE workspace_id = $1 AND status IN ('draft', 'active') ORDER BY id";

/// Reads the same rows and discards them.
async fn select(bare: &mut Bare, workspace_id: &WorkspaceId) -> anyhow::Result<()> {
    let workspace_id = values![workspace_id.as_str()];
    let folders = bare.select(FOLDERS, workspace_id, "tttnn").await?;
    let threads = bare.select(THREADS, workspace_id, "tttnn").await?;
    let placements = bare.select(PLACEMENTS, workspace_id, "tt").await?;
    let documents = bare.select(DOCUMENTS, workspace_id, "ttttnnn").await?;
    std::hint::black_box((folders, threads, placements, documents));
    Ok(())
}

fn memory_in_new_process(database: &Database, workspace_id: &WorkspaceId) -> anyhow::Result<String> {
    let address = match database {
        Database::Sqlite(path) => format!("sqlite://{}", path.display()),
        Database::Postgres(address) => address.clone(),
    };
    let program = std::env::current_exe()?;
    let output = Command::new(program).args([MEMORY_MODE, &address, workspace_id.as_str()]).output()?;
    anyhow::ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).context("the memory was not printed as text")
}

/// Runs [`MEMORY_MODE`].
pub(crate) async fn print_memory(address: &str, workspace_id: &str) -> anyhow::Result<()> {
    let store = Store::open(&address.parse()?).await?;
    let memory = ResidentMemory::own();
    let before = memory.now()?;
    let tree = store.tree_part(ThreadTreeParams::whole(workspace_id.parse()?)).await?;
    let read = memory.peak()?;
    let kept = memory.now()?;
    memory.reset_peak();
    let text = serde_json::to_vec(&tree)?;
    let serialised = memory.peak()?;
    drop((tree, text));
    let mut table = Table::new(["resident memory", "", "over the start"]);
    for (name, bytes) in [
        ("before", before),
        ("peak while the tree is read", read),
        ("with the tree", kept),
        ("peak while it is serialised", serialised),
    ] {
        table.row([name.to_owned(), show_bytes(bytes), show_bytes(bytes.saturating_sub(before))]);
    }
    println!("{table}");
    Ok(())
}
