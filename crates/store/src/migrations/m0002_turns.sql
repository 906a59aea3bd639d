-- Turns with their items, prompts and hook runs, and the sessions of threads.
-- The same text for both databases. JSON is TEXT: no query looks into it, and it comes back as it went in.

CREATE TABLE turn (
    id TEXT PRIMARY KEY,
    workspace_id TEXT NOT NULL REFERENCES workspace (id),
    thread_id TEXT NOT NULL REFERENCES thread (id),
    ordinal BIGINT NOT NULL CHECK (ordinal > 0),
    status TEXT NOT NULL CHECK (status IN ('running', 'completed', 'failed', 'cancelled')),
    input TEXT NOT NULL,
    model TEXT,
    cwd TEXT,
    error TEXT,
    usage TEXT,
    lease_owner TEXT,
    lease_expires_at BIGINT,
    created_at BIGINT NOT NULL,
    finished_at BIGINT,
    created_by TEXT,
    CHECK (status <> 'running' OR (lease_owner IS NOT NULL AND lease_expires_at IS NOT NULL)),
    CHECK ((status = 'running') = (finished_at IS NULL))
);
CREATE UNIQUE INDEX uq_turn_thread_ordinal ON turn (thread_id, ordinal);
CREATE UNIQUE INDEX uq_turn_thread_running ON turn (thread_id) WHERE status = 'running';
CREATE INDEX ix_turn_lease ON turn (lease_expires_at) WHERE status = 'running';
CREATE TABLE turn_item (
    id TEXT PRIMARY KEY,
    workspace_id TEXT NOT NULL REFERENCES workspace (id),
    turn_id TEXT NOT NULL REFERENCES turn (id),
    ordinal BIGINT NOT NULL CHECK (ordinal > 0),
    kind TEXT NOT NULL,
    content TEXT NOT NULL,
    created_at BIGINT NOT NULL
);
CREATE UNIQUE INDEX uq_turn_item_ordinal ON turn_item (turn_id, ordinal);
CREATE TABLE prompt_manifest (
    workspace_id TEXT NOT NULL REFERENCES workspace (id),
    turn_id TEXT NOT NULL REFERENCES turn (id),
    round BIGINT NOT NULL CHECK (round >= 0),
    manifest TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (turn_id, round)
);
CREATE TABLE prompt_text (
    workspace_id TEXT NOT NULL REFERENCES workspace (id),
    sha256 TEXT NOT NULL,
    content TEXT NOT NULL,
    chars BIGINT NOT NULL,
    last_used_at BIGINT NOT NULL,
    PRIMARY KEY (workspace_id, sha256)
);
CREATE INDEX ix_prompt_text_used ON prompt_text (last_used_at);
CREATE INDEX ix_prompt_text_workspace_used ON prompt_text (workspace_id, last_used_at);
CREATE TABLE session (
    thread_id TEXT PRIMARY KEY REFERENCES thread (id),
    workspace_id TEXT NOT NULL REFERENCES workspace (id),
    state TEXT NOT NULL,
    version BIGINT NOT NULL CHECK (version > 0),
    updated_at BIGINT NOT NULL
);
CREATE TABLE hook_run (
    id TEXT PRIMARY KEY,
    workspace_id TEXT REFERENCES workspace (id),
    thread_id TEXT REFERENCES thread (id),
    turn_id TEXT REFERENCES turn (id),
    package_id TEXT NOT NULL,
    hook_id TEXT NOT NULL,
    subscription_id TEXT NOT NULL,
    phase TEXT NOT NULL,
    status TEXT NOT NULL,
    started_at BIGINT NOT NULL,
    duration_us BIGINT NOT NULL,
    record TEXT NOT NULL,
    CHECK (workspace_id IS NOT NULL OR (thread_id IS NULL AND turn_id IS NULL))
);
CREATE INDEX ix_hook_run_turn ON hook_run (turn_id, started_at, id);
CREATE INDEX ix_hook_run_workspace_started ON hook_run (workspace_id, started_at);
CREATE INDEX ix_hook_run_started ON hook_run (started_at);
