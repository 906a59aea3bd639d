//! The memory of a gateway before, with and after a thousand subscribers.

use std::time::{Duration, Instant};

use client::{Client, Target};
use measure::{Effort, ResidentMemory, Table, show_bytes, show_count, show_ratio};
use protocol::method::{
    DocumentSave, DocumentSaveParams, EventsSubscribe, EventsSubscribeParams, WorkspaceCreate,
    WorkspaceCreateParams,
};
use protocol::{SaveReason, WorkspaceId};
use workload::text;

use crate::open_files;
use crate::serve::Served;

/// Files this process needs besides the sockets of its subscribers.
const OTHER_FILES: u64 = 200;
/// Files that the gateway may have opened for itself in the meantime, such as another connection to its database.
const OWN_FILES: usize = 16;
/// Time limit for the gateway to notice that all clients have disconnected.
const LEAVING_TIME: Duration = Duration::from_secs(30);

pub(crate) async fn measure(effort: Effort) -> anyhow::Result<()> {
    let allowed = open_files::allow_most();
    let count = usize::try_from(effort.choose(50, 1_000).min(allowed.saturating_sub(OTHER_FILES)))?;
    let data = tempfile::tempdir()?;
    let served = Served::start(data.path())?;
    let memory = ResidentMemory::of(served.process_id());
    let target = Target::Local { data: data.path().to_owned() };
    let editor = Client::connect(&target).await?;
    let name = format!("benchmark {}", protocol::WorkspaceId::new());
    let params = WorkspaceCreateParams { name, root_path: None, agents: None };
    let workspace_id = editor.call::<WorkspaceCreate>(&params).await?.workspace.id;
    save(&editor, &workspace_id, 0).await?;

    let mut table = Table::new(["the gateway's resident memory", "", "times the start"]);
    let start = memory.now()?;
    let mut row = |name: String, bytes: u64| {
        table.row([name, show_bytes(bytes), show_ratio(bytes as f64 / start as f64)]);
    };
    row("at the start".to_owned(), start);
    let files = served.open_files()?;
    // The second round shows whether memory is reused: a leak would make it grow again.
    for round in 1..=2 {
        let mut subscribers = Vec::with_capacity(count);
        for _ in 0..count {
            let client = Client::connect(&target).await?;
            let params =
                EventsSubscribeParams { workspace_id: workspace_id.clone(), since: None, instance: None };
            client.call::<EventsSubscribe>(&params).await?;
            subscribers.push(client);
        }
        save(&editor, &workspace_id, round).await?;
        for subscriber in &mut subscribers {
            anyhow::ensure!(subscriber.notification().await.is_some(), "a subscriber heard nothing");
        }
        row(format!("with {} subscribers", show_count(count as u64)), memory.now()?);
        drop(subscribers);
        let begun = Instant::now();
        // The gateway notices the end of a connection with some delay, and memory read before that would include it.
        while served.open_files()? > files + OWN_FILES {
            anyhow::ensure!(begun.elapsed() < LEAVING_TIME, "connections stay open");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        row("after they have left".to_owned(), memory.now()?);
    }
    println!("## Memory of {} subscribers who come and go twice\n\n{table}", show_count(count as u64));
    Ok(())
}

async fn save(editor: &Client, workspace_id: &WorkspaceId, number: u64) -> anyhow::Result<()> {
    let params = DocumentSaveParams {
        workspace_id: workspace_id.clone(),
        folder_id: None,
        content: text(number),
        expected_version: None,
        save_reason: Some(SaveReason::Autosave),
        message: None,
    };
    editor.call::<DocumentSave>(&params).await?;
    Ok(())
}
