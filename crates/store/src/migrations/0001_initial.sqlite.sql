-- The parts of the first migration that only SQLite has. They run after 0001_initial.sql.

CREATE TRIGGER thread_is_placed AFTER INSERT ON thread_placement BEGIN
    UPDATE thread SET is_placed = 1 WHERE id = NEW.thread_id;
END;
CREATE TRIGGER thread_is_not_placed AFTER DELETE ON thread_placement BEGIN
    UPDATE thread SET is_placed = 0 WHERE id = OLD.thread_id;
END;

CREATE TABLE memory_item (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    scope TEXT NOT NULL CHECK (scope IN ('user', 'workspace', 'thread')),
    workspace_id TEXT REFERENCES workspace (id),
    thread_id TEXT REFERENCES thread (id),
    owner TEXT,
    category TEXT NOT NULL,
    text TEXT,
    text_sha256 TEXT,
    source_turn TEXT REFERENCES turn (id),
    status TEXT NOT NULL CHECK (status IN ('active', 'superseded', 'deleted', 'expired')),
    created_at BIGINT NOT NULL,
    created_by TEXT,
    expires_at BIGINT,
    CHECK ((scope = 'user') = (owner IS NOT NULL)),
    CHECK ((scope = 'user') = (workspace_id IS NULL)),
    CHECK ((scope = 'thread') = (thread_id IS NOT NULL)),
    CHECK ((status = 'deleted') = (text IS NULL)),
    CHECK ((text IS NULL) = (text_sha256 IS NULL))
);
-- We cut the terms ourselves. The tokenizer `ascii` treats every character beyond ASCII as part of a term, and of ASCII
-- our terms contain only letters and digits.
CREATE VIRTUAL TABLE memory_term USING fts5 (terms, tokenize = 'ascii');
-- Forgotten terms must not remain readable in an old segment of the index.
INSERT INTO memory_term (memory_term, rank) VALUES ('secure-delete', 1);
CREATE TRIGGER memory_item_is_not_found AFTER UPDATE OF status ON memory_item WHEN NEW.status <> 'active' BEGIN
    DELETE FROM memory_term WHERE rowid = NEW.number;
END;

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
    -- The SHA-256 of a section, or the id of a call.
    kind TEXT NOT NULL CHECK (kind IN ('section', 'call')),
    place TEXT NOT NULL,
    PRIMARY KEY (item_id, turn_id, kind, place)
);
CREATE INDEX ix_memory_use_turn ON memory_use (turn_id);
CREATE TABLE memory_purge (
    item_id TEXT PRIMARY KEY REFERENCES memory_item (id),
    -- NULL for an item of a user, which belongs to no workspace.
    workspace_id TEXT REFERENCES workspace (id),
    actor TEXT,
    -- Turns up to this id have been purged.
    after_turn TEXT NOT NULL,
    removed TEXT NOT NULL,
    updated_at BIGINT NOT NULL
);
