-- What was forgotten and is still in something that carried it. A purge goes through an item's turns in batches; whoever
-- finds one that nobody goes on with does so. The same text for both databases.

CREATE TABLE memory_purge (
    item_id TEXT PRIMARY KEY REFERENCES memory_item (id),
    -- Of the item; none where it is somebody's own.
    workspace_id TEXT REFERENCES workspace (id),
    actor TEXT,
    -- All turns up to this one are done.
    after_turn TEXT NOT NULL,
    removed TEXT NOT NULL,
    updated_at BIGINT NOT NULL
);
