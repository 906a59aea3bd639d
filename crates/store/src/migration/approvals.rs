//! Approvals of tool calls, requests to stop a turn, and what a thread leaves out of its requests.

use sea_orm::{ConnectionTrait, DbErr};
use sea_orm_migration::{MigrationName, MigrationTrait, SchemaManager, async_trait};

pub(crate) struct Migration;

impl MigrationName for Migration {
    fn name(&self) -> &str {
        "m0003_approvals"
    }
}

/// The same text for both databases. What is allowed is 0 or 1: they have no boolean in common.
const TABLES: &str = "
CREATE TABLE turn_approval (
    workspace_id TEXT NOT NULL REFERENCES workspace (id),
    turn_id TEXT NOT NULL REFERENCES turn (id),
    call_id TEXT NOT NULL,
    request TEXT NOT NULL,
    requested_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    allowed BIGINT CHECK (allowed IN (0, 1)),
    decided_at BIGINT,
    decided_by TEXT,
    PRIMARY KEY (turn_id, call_id),
    CHECK ((allowed IS NULL) = (decided_at IS NULL))
);
CREATE TABLE thread_context (
    thread_id TEXT PRIMARY KEY REFERENCES thread (id),
    workspace_id TEXT NOT NULL REFERENCES workspace (id),
    through BIGINT NOT NULL CHECK (through >= 0),
    summary TEXT,
    version BIGINT NOT NULL CHECK (version > 0),
    updated_at BIGINT NOT NULL
);
ALTER TABLE turn ADD COLUMN stop_requested_at BIGINT;
";

#[async_trait::async_trait]
impl MigrationTrait for Migration {
    /// On SQLite too: a migration that is interrupted leaves the schema as it was, and is done by the next start.
    fn use_transaction(&self) -> Option<bool> {
        Some(true)
    }

    async fn up(&self, manager: &SchemaManager) -> Result<(), DbErr> {
        manager.get_connection().execute_unprepared(TABLES).await.map(drop)
    }
}
