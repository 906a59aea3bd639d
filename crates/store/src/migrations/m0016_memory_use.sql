-- One text is remembered once in its place; and where an item was used, so that forgetting it finds what carried it.
-- The same text for both databases.

CREATE UNIQUE INDEX uq_memory_item_user_text ON memory_item (owner, text_sha256)
    WHERE scope = 'user' AND status = 'active';
CREATE UNIQUE INDEX uq_memory_item_workspace_text ON memory_item (workspace_id, text_sha256)
    WHERE scope = 'workspace' AND status = 'active';
CREATE UNIQUE INDEX uq_memory_item_thread_text ON memory_item (thread_id, text_sha256)
    WHERE scope = 'thread' AND status = 'active';
CREATE INDEX ix_memory_item_workspace ON memory_item (workspace_id, id) WHERE workspace_id IS NOT NULL;
CREATE INDEX ix_memory_item_owner ON memory_item (owner, id) WHERE owner IS NOT NULL;
CREATE INDEX ix_memory_item_expires ON memory_item (expires_at) WHERE status = 'active' AND expires_at IS NOT NULL;
CREATE TABLE memory_use (
    item_id TEXT NOT NULL REFERENCES memory_item (id),
    workspace_id TEXT NOT NULL REFERENCES workspace (id),
    turn_id TEXT NOT NULL REFERENCES turn (id),
    -- A section, by the SHA-256 of its text, or a call, by its id.
    kind TEXT NOT NULL CHECK (kind IN ('section', 'call')),
    place TEXT NOT NULL,
    PRIMARY KEY (item_id, turn_id, kind, place)
);
CREATE INDEX ix_memory_use_turn ON memory_use (turn_id);
-- A text that was purged keeps its row, so that nobody takes it for one that was never kept.
ALTER TABLE prompt_text ADD COLUMN purged_at BIGINT;
