//! Large workspaces, filled by SQL: through the store, each row would be a transaction.

use protocol::{ContentHash, WorkspaceId};
use workload::text;

use crate::bare::Bare;

/// Size of a workspace.
#[derive(Clone, Copy)]
pub(crate) struct Size {
    pub(crate) folders: u64,
    pub(crate) threads: u64,
    pub(crate) documents: u64,
}

impl Size {
    pub(crate) const LARGE: Self = Self { folders: 10_000, threads: 100_000, documents: 1_000 };
    pub(crate) const SMALL: Self = Self { folders: 100, threads: 1_000, documents: 10 };

    /// Fills an empty workspace.
    pub(crate) async fn fill(self, bare: &mut Bare, workspace_id: &WorkspaceId) -> anyhow::Result<()> {
        bare.script(&self.statements(workspace_id)).await?;
        match bare {
            // Without statistics the planner would choose other indexes. PostgreSQL would collect them soon, SQLite
            // never does.
            Bare::Postgres(_) => bare.script(&["ANALYZE".to_owned()]).await,
            Bare::Sqlite { .. } => Ok(()),
        }
    }

    /// Returns statements for both databases.
    // Their ids look like the store's.
    fn statements(self, workspace_id: &WorkspaceId) -> Vec<String> {
        let Self { folders, threads, documents } = self;
        let numbers = |count: u64| {
            format!("WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < {count})")
        };
        let id = |kind: &str, number: &str| {
            format!("'0198f{kind}00-0000-7000-8000-' || CAST(100000000000 + {number} AS TEXT)")
        };
        let folder = id("a", "i");
        let thread = id("b", "i");
        let document = id("c", "i");
        let parent = id("a", "(i / 10)");
        let home = id("a", &format!("(i % {folders})"));
        let now = "1760000000000";
        let content = text(0);
        vec![
            format!(
                "{} INSERT INTO folder (id, workspace_id, parent_folder_id, name, created_at, updated_at)
                 SELECT {folder}, '{workspace_id}', CASE WHEN i = 0 THEN NULL ELSE {parent} END,
                 'Folder number ' || CAST(i AS TEXT), {now} + i, {now} + i FROM n",
                numbers(folders)
            ),
            format!(
                "{} INSERT INTO thread (id, workspace_id, title, mode, created_at, updated_at)
                 SELECT {thread}, '{workspace_id}', 'What the thread number ' || CAST(i AS TEXT) || ' is about',
                 CASE WHEN i % 2 = 0 THEN 'chat' ELSE 'agent' END, {now} + i, {now} + i FROM n",
                numbers(threads)
            ),
            format!(
                "{} INSERT INTO thread_placement (thread_id, workspace_id, folder_id)
                 SELECT {thread}, '{workspace_id}', {home} FROM n",
                numbers(threads)
            ),
            format!(
                "{} INSERT INTO thread_agents_doc (id, workspace_id, folder_id, status, title, content,
                 content_sha256, char_count, version, created_at, updated_at)
                 SELECT {document}, '{workspace_id}', {folder}, 'active', 'AGENTS.md', '{content}', '{sha256}',
                 {characters}, 1, {now} + i, {now} + i FROM n",
                numbers(documents),
                sha256 = ContentHash::of(&content),
                characters = content.len(),
            ),
        ]
    }
}
