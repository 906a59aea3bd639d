-- The same text for both databases: TEXT for ids and words, BIGINT for numbers and milliseconds since 1970. JSON is TEXT,
-- because no query looks into it and it must be returned as it was stored. Booleans are 0 or 1: the two databases do not
-- share a boolean type.

CREATE TABLE workspace (
    id TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    root_path TEXT,
    agents TEXT,
    -- The last sequence number of the workspace's change log. Updating it locks the row, which orders writers.
    seq BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    archived_at BIGINT
);
CREATE UNIQUE INDEX uq_workspace_name ON workspace (name) WHERE archived_at IS NULL;

-- Identifies the database, so that clients notice when another one takes its place.
CREATE TABLE instance (
    id TEXT PRIMARY KEY,
    created_at BIGINT NOT NULL
);
-- Written and deleted to test that the database accepts writes.
CREATE TABLE write_probe (
    id TEXT PRIMARY KEY,
    content TEXT NOT NULL
);

-- The thread tree.

CREATE TABLE folder (
    id TEXT PRIMARY KEY,
    workspace_id TEXT NOT NULL REFERENCES workspace (id),
    parent_folder_id TEXT REFERENCES folder (id),
    name TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    deleted_at BIGINT,
    -- JSON of the children that moved to the parent when the folder was deleted.
    moved_out TEXT
);
CREATE INDEX ix_folder_workspace ON folder (workspace_id, parent_folder_id);
CREATE INDEX ix_folder_parent ON folder (parent_folder_id);
CREATE TABLE thread (
    id TEXT PRIMARY KEY,
    workspace_id TEXT NOT NULL REFERENCES workspace (id),
    title TEXT NOT NULL,
    mode TEXT NOT NULL CHECK (mode IN ('chat', 'agent')),
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    archived_at BIGINT,
    -- Whether the thread has a placement. Triggers maintain it, so that an index can find the threads of the root.
    is_placed BIGINT NOT NULL DEFAULT 0 CHECK (is_placed IN (0, 1)),
    parent_thread_id TEXT REFERENCES thread (id)
);
CREATE INDEX ix_thread_workspace ON thread (workspace_id, id);
-- `is_placed` is a column of the index and not its condition: SQLite does not prefer a partial index.
CREATE INDEX ix_thread_place ON thread (workspace_id, is_placed, id) WHERE archived_at IS NULL;
CREATE INDEX ix_thread_archived ON thread (workspace_id, archived_at) WHERE archived_at IS NOT NULL;
-- Threads of the workspace root have no row here.
CREATE TABLE thread_placement (
    thread_id TEXT PRIMARY KEY REFERENCES thread (id),
    workspace_id TEXT NOT NULL REFERENCES workspace (id),
    folder_id TEXT NOT NULL REFERENCES folder (id)
);
-- Covers the query that reads the placements of a whole tree.
CREATE INDEX ix_thread_placement_workspace ON thread_placement (workspace_id, thread_id, folder_id);
CREATE INDEX ix_thread_placement_folder ON thread_placement (folder_id, thread_id);

-- Documents.

CREATE TABLE thread_agents_doc (
    id TEXT PRIMARY KEY,
    workspace_id TEXT NOT NULL REFERENCES workspace (id),
    folder_id TEXT REFERENCES folder (id),
    status TEXT NOT NULL CHECK (status IN ('draft', 'active', 'archived')),
    title TEXT NOT NULL,
    content TEXT NOT NULL,
    content_sha256 TEXT NOT NULL,
    char_count BIGINT NOT NULL,
    version BIGINT NOT NULL CHECK (version > 0),
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    archived_at BIGINT,
    created_by TEXT,
    updated_by TEXT
);
CREATE UNIQUE INDEX uq_thread_agents_doc_root_active ON thread_agents_doc (workspace_id)
    WHERE folder_id IS NULL AND status IN ('draft', 'active');
CREATE UNIQUE INDEX uq_thread_agents_doc_folder_active ON thread_agents_doc (workspace_id, folder_id)
    WHERE folder_id IS NOT NULL AND status IN ('draft', 'active');
CREATE TABLE thread_agents_doc_revision (
    id TEXT PRIMARY KEY,
    doc_id TEXT NOT NULL REFERENCES thread_agents_doc (id),
    workspace_id TEXT NOT NULL REFERENCES workspace (id),
    folder_id TEXT REFERENCES folder (id),
    version BIGINT NOT NULL CHECK (version > 0),
    content TEXT NOT NULL,
    content_sha256 TEXT NOT NULL,
    char_count BIGINT NOT NULL,
    saved_at BIGINT NOT NULL,
    saved_by TEXT,
    save_reason TEXT NOT NULL CHECK (save_reason IN ('autosave', 'manual', 'archive', 'restore')),
    message TEXT,
    restored_from BIGINT
);
CREATE UNIQUE INDEX uq_thread_agents_doc_revision_root ON thread_agents_doc_revision (workspace_id, version)
    WHERE folder_id IS NULL;
CREATE UNIQUE INDEX uq_thread_agents_doc_revision_folder
    ON thread_agents_doc_revision (workspace_id, folder_id, version) WHERE folder_id IS NOT NULL;

-- Access and what happened.

CREATE TABLE change_log (
    workspace_id TEXT NOT NULL REFERENCES workspace (id),
    seq BIGINT NOT NULL,
    changed_at BIGINT NOT NULL,
    actor TEXT,
    method TEXT NOT NULL,
    params TEXT NOT NULL,
    PRIMARY KEY (workspace_id, seq)
);
CREATE TABLE access_token (
    id TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    role TEXT NOT NULL CHECK (role IN ('owner', 'operator', 'editor', 'reader')),
    workspace_id TEXT REFERENCES workspace (id),
    secret_sha256 TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    created_by TEXT,
    revoked_at BIGINT,
    revoked_by TEXT,
    expires_at BIGINT
);
CREATE UNIQUE INDEX uq_access_token_secret ON access_token (secret_sha256);
CREATE UNIQUE INDEX uq_access_token_name ON access_token (name) WHERE revoked_at IS NULL;
CREATE TABLE audit_entry (
    id TEXT PRIMARY KEY,
    at BIGINT NOT NULL,
    kind TEXT NOT NULL,
    actor TEXT,
    workspace_id TEXT REFERENCES workspace (id),
    event TEXT NOT NULL
);
CREATE INDEX ix_audit_entry_at ON audit_entry (at, id);
CREATE INDEX ix_audit_entry_workspace ON audit_entry (workspace_id, id) WHERE workspace_id IS NOT NULL;

-- Turns, and what is recorded while they run.

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
    stop_requested_at BIGINT,
    stop_requested_by TEXT,
    -- The token itself and not its name, which may be given to another token after this one is revoked.
    token_id TEXT REFERENCES access_token (id),
    parent_turn_id TEXT REFERENCES turn (id),
    CHECK (status <> 'running' OR (lease_owner IS NOT NULL AND lease_expires_at IS NOT NULL)),
    CHECK ((status = 'running') = (finished_at IS NULL))
);
CREATE UNIQUE INDEX uq_turn_thread_ordinal ON turn (thread_id, ordinal);
CREATE UNIQUE INDEX uq_turn_thread_running ON turn (thread_id) WHERE status = 'running';
CREATE INDEX ix_turn_lease ON turn (lease_expires_at) WHERE status = 'running';
CREATE INDEX ix_turn_workspace_running ON turn (workspace_id) WHERE status = 'running';
CREATE INDEX ix_turn_workspace_finished ON turn (workspace_id, finished_at);
-- The turns of a workspace, newest first.
CREATE INDEX ix_turn_workspace ON turn (workspace_id, id);
CREATE INDEX ix_turn_parent ON turn (parent_turn_id) WHERE parent_turn_id IS NOT NULL;
-- After `turn`, because PostgreSQL accepts references only to tables that exist.
ALTER TABLE thread ADD COLUMN parent_turn_id TEXT REFERENCES turn (id);
ALTER TABLE thread ADD COLUMN inherits_document BIGINT NOT NULL DEFAULT 0;
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
CREATE INDEX ix_prompt_manifest_created ON prompt_manifest (created_at);
CREATE TABLE prompt_text (
    workspace_id TEXT NOT NULL REFERENCES workspace (id),
    sha256 TEXT NOT NULL,
    content TEXT NOT NULL,
    chars BIGINT NOT NULL,
    last_used_at BIGINT NOT NULL,
    -- A purged text keeps its row, so that it is not mistaken for one that was never stored.
    purged_at BIGINT,
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
    how TEXT NOT NULL DEFAULT 'asked' CHECK (how IN ('asked', 'standing', 'flag', 'unattended', 'expired')),
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
-- Hidden tools that a thread has requested, as a JSON list in the order of the requests.
CREATE TABLE requested_tools (
    thread_id TEXT PRIMARY KEY REFERENCES thread (id),
    workspace_id TEXT NOT NULL REFERENCES workspace (id),
    names TEXT NOT NULL,
    updated_at BIGINT NOT NULL
);
-- Work that follows a turn, for the first gateway that claims it.
CREATE TABLE background_job (
    id TEXT PRIMARY KEY,
    workspace_id TEXT NOT NULL REFERENCES workspace (id),
    turn_id TEXT NOT NULL REFERENCES turn (id),
    kind TEXT NOT NULL,
    payload TEXT NOT NULL,
    status TEXT NOT NULL CHECK (status IN ('waiting', 'running', 'done', 'failed')),
    attempts BIGINT NOT NULL,
    max_attempts BIGINT NOT NULL CHECK (max_attempts > 0),
    back_off_ms BIGINT NOT NULL,
    -- When a waiting job is due, or when the gateway of a running one counts as dead.
    due_at BIGINT NOT NULL,
    owner TEXT,
    error TEXT,
    created_at BIGINT NOT NULL,
    finished_at BIGINT,
    usage TEXT,
    used_at BIGINT,
    CHECK ((status = 'running') = (owner IS NOT NULL))
);
CREATE UNIQUE INDEX uq_background_job_turn ON background_job (turn_id, kind);
CREATE INDEX ix_background_job_due ON background_job (due_at) WHERE status IN ('waiting', 'running');
CREATE INDEX ix_background_job_used ON background_job (workspace_id, used_at) WHERE used_at IS NOT NULL;
