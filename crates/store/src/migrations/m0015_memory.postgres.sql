-- What is remembered, and the terms that it is found by, which are cut by us.

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
