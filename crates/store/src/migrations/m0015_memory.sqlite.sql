-- What is remembered, and the terms that it is found by. Terms are cut by us: to the tokenizer `ascii` every character
-- beyond ASCII is part of a term, and of ASCII our terms have letters and digits only.

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
CREATE VIRTUAL TABLE memory_term USING fts5 (terms, tokenize = 'ascii');
-- What was forgotten is not to be read in an old segment of the index.
INSERT INTO memory_term (memory_term, rank) VALUES ('secure-delete', 1);
CREATE TRIGGER memory_item_is_not_found AFTER UPDATE OF status ON memory_item WHEN NEW.status <> 'active' BEGIN
    DELETE FROM memory_term WHERE rowid = NEW.number;
END;
