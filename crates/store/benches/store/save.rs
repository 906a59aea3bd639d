//! A save against the bare transaction that writes the same rows.

use measure::{Comparison, Effort, Rounds, show_count};
use protocol::{ContentHash, DocumentId, Timestamp, Version};
use store::{Database, Store};
use workload::{self, ACTOR, DeepThread, text};

use crate::bare::{Bare, values};
use crate::databases::Databases;
use crate::large_tree::Size;

const UPDATE_DOCUMENT: &str = "UPDATE thread_agents_doc SET status = $1, content = $2, content_sha256 = $3,
    char_count = $4, version = $5, updated_at = $6, updated_by = $7 WHERE id = $8 AND version = $9";
const INSERT_REVISION: &str = "INSERT INTO thread_agents_doc_revision (id, doc_id, workspace_id, folder_id,
    version, content, content_sha256, char_count, saved_at, saved_by, save_reason)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)";
const UPDATE_WORKSPACE: &str = "UPDATE workspace SET seq = $1 WHERE id = $2";
const INSERT_CHANGE: &str = "INSERT INTO change_log (workspace_id, seq, changed_at, actor, method, params)
    VALUES ($1, $2, $3, $4, $5, $6)";

pub(crate) async fn measure(databases: &Databases, effort: Effort) -> anyhow::Result<()> {
    // One database each: two writers of one SQLite file would invalidate each other's page cache every time.
    let fresh = databases.fresh("save")?;
    let store = Store::open(&fresh.database).await?;
    fill(&store, &fresh.database, effort).await?;
    let scope = DeepThread::create(&store).await?.scope();

    let fresh_for_bare = databases.fresh("bare-save")?;
    let mut bare = BareSaves::prepare(&fresh_for_bare.database, effort).await?;

    let mut number = 0;
    let mut newest = Version(0);
    let figures = Comparison::against("bare transaction", async || bare.save().await)
        .with("Store::save_document", async || {
            number += 1;
            let saved = store.save_document(workload::save(scope.clone(), number), Some(ACTOR)).await?;
            anyhow::ensure!(std::mem::replace(&mut newest, saved.version) < saved.version);
            Ok(())
        })
        .run(Rounds { warm_up: effort.choose(5, 100), measured: effort.choose(50, 2_000) })
        .await?;
    let documents = show_count(documents(effort) + 1);
    println!(
        "## {}: save a changed text of {} bytes, one of {documents} documents\n\n{figures}",
        databases.name(),
        text(0).len()
    );
    store.close().await;
    Ok(())
}

/// Adds a second workspace with many documents, so that the saved one has to be found among them.
async fn fill(store: &Store, database: &Database, effort: Effort) -> anyhow::Result<()> {
    let documents = documents(effort);
    let size = Size { folders: documents, threads: 1, documents };
    size.fill(&mut Bare::connect(database).await?, &workload::workspace(store).await?).await
}

fn documents(effort: Effort) -> u64 {
    effort.choose(Size::SMALL, Size::LARGE).documents
}

/// Saves one document repeatedly with only the writing statements.
pub(crate) struct BareSaves {
    bare: Bare,
    workspace_id: String,
    folder_id: String,
    document_id: String,
    version: i64,
    seq: i64,
}

impl BareSaves {
    pub(crate) async fn prepare(database: &Database, effort: Effort) -> anyhow::Result<Self> {
        let store = Store::open(database).await?;
        fill(&store, database, effort).await?;
        let thread = DeepThread::create(&store).await?;
        let (document, _) = store.document(&thread.scope()).await?;
        let document = document.ok_or_else(|| anyhow::anyhow!("the folder has no document"))?;
        let seq = store.sequence(&thread.workspace_id).await?;
        store.close().await;
        Ok(Self {
            bare: Bare::connect(database).await?,
            workspace_id: document.workspace_id.into(),
            folder_id: thread.outermost.into(),
            document_id: document.id.into(),
            version: document.version.to_column(),
            seq: seq.to_column(),
        })
    }

    pub(crate) async fn save(&mut self) -> anyhow::Result<()> {
        self.version += 1;
        self.seq += 1;
        let content = text(u64::try_from(self.version)?);
        let sha256 = ContentHash::of(&content).to_string();
        let characters = i64::try_from(content.len())?;
        let now = Timestamp::now().milliseconds();
        let params = self.notification(&sha256);
        let Self { bare, workspace_id, folder_id, document_id, version, seq } = self;
        let begin = bare.begin_write();
        bare.execute(begin, &[]).await?;
        let before = *version - 1;
        let id = DocumentId::new().to_string();
        let values =
            values!["active", &content, &sha256, characters, *version, now, ACTOR, &*document_id, before];
        anyhow::ensure!(bare.execute(UPDATE_DOCUMENT, values).await? == 1);
        let values = values![
            &id,
            &*document_id,
            &*workspace_id,
            &*folder_id,
            *version,
            &content,
            &sha256,
            characters,
            now,
            ACTOR,
            "autosave"
        ];
        bare.execute(INSERT_REVISION, values).await?;
        bare.execute(UPDATE_WORKSPACE, values![*seq, &*workspace_id]).await?;
        let values = values![&*workspace_id, *seq, now, ACTOR, "thread/agents_doc/changed", &params];
        bare.execute(INSERT_CHANGE, values).await?;
        bare.execute("COMMIT", &[]).await?;
        Ok(())
    }

    /// Returns a body as long as the one that a save logs.
    fn notification(&self, sha256: &str) -> String {
        let Self { workspace_id, folder_id, document_id, version, seq, .. } = self;
        format!(
            r#"{{"seq":{seq},"workspace_id":"{workspace_id}","folder_id":"{folder_id}","summary":{{"id":"{document_id}",
"workspace_id":"{workspace_id}","folder_id":"{folder_id}","status":"active","content_sha256":"{sha256}",
"version":{version},"char_count":2021,"updated_at":"2025-01-01T00:00:00.000Z"}},"effective_changed":true}}"#
        )
    }
}
