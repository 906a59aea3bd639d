-- The parts of the first migration that only PostgreSQL has. They run after 0001_initial.sql.

-- Wakes other gateways inside the transaction that revokes a token, whichever program runs it.
CREATE FUNCTION foreword_notify_token() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_notify('foreword_token', NEW.id);
    RETURN NULL;
END $$;
CREATE TRIGGER access_token_notify AFTER UPDATE ON access_token
    FOR EACH ROW EXECUTE FUNCTION foreword_notify_token();
CREATE FUNCTION foreword_place_thread() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'INSERT' THEN
        UPDATE thread SET is_placed = 1 WHERE id = NEW.thread_id;
    ELSE
        UPDATE thread SET is_placed = 0 WHERE id = OLD.thread_id;
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER thread_placement_place AFTER INSERT OR DELETE ON thread_placement
    FOR EACH ROW EXECUTE FUNCTION foreword_place_thread();

-- We cut the terms ourselves: rules of the text search parser depend on a locale.
CREATE TABLE memory_item (
    number BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
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
    terms tsvector,
    CHECK ((scope = 'user') = (owner IS NOT NULL)),
    CHECK ((scope = 'user') = (workspace_id IS NULL)),
    CHECK ((scope = 'thread') = (thread_id IS NOT NULL)),
    CHECK ((status = 'deleted') = (text IS NULL)),
    CHECK ((text IS NULL) = (text_sha256 IS NULL))
);
CREATE INDEX ix_memory_item_terms ON memory_item USING gin (terms);
CREATE FUNCTION foreword_memory_is_not_found() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.terms := NULL;
    RETURN NEW;
END $$;
CREATE TRIGGER memory_item_is_not_found BEFORE UPDATE OF status ON memory_item
    FOR EACH ROW WHEN (NEW.status <> 'active') EXECUTE FUNCTION foreword_memory_is_not_found();

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
