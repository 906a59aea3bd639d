//! A database that is damaged on the disk.

use std::io::{Seek as _, SeekFrom, Write as _};

use serde_json::json;

use super::stage::Stage;
use super::{Attack, Outcome};

/// Bytes at the beginning of the file that stay: a damaged header is noticed by any program.
const HEADER: u64 = 8 * 4096;
const PAGE: u64 = 4096;

pub(super) async fn damaged_pages(attack: &Attack) -> anyhow::Result<Outcome> {
    let mut stage = Stage::set(attack, None).await?;
    stage.documents(40).await?;
    tokio::task::block_in_place(|| stage.gateway.kill())?;
    let database = stage.gateway.directory().join("data/foreword.db");
    let size = std::fs::metadata(&database)?.len();
    let mut file = std::fs::File::options().write(true).open(&database)?;
    let mut pages = 0;
    let mut position = HEADER;
    while position + PAGE <= size {
        file.seek(SeekFrom::Start(position))?;
        file.write_all(&[0xAB; PAGE as usize])?;
        pages += 1;
        position += 7 * PAGE;
    }
    file.sync_all()?;
    let mut breaches = Vec::new();
    // It may be read, but no save may be acknowledged.
    tokio::task::block_in_place(|| stage.gateway.start_again())?;
    let ready = stage.request("GET", "/readyz")?.ask().await?.status;
    if ready == 200 {
        breaches.push("`/readyz` is 200".to_owned());
    }
    let save = json!({ "workspace_id": stage.workspace, "content": "saved into a damaged database" });
    if stage.rpc("thread/agents_doc/save", save).await.is_ok() {
        breaches.push("a save was acknowledged".to_owned());
    }
    Ok(Outcome::new(3, format!("{pages} pages damaged, `/readyz` {ready}, saves refused"), breaches))
}
