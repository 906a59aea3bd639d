-- Workspaces, the thread tree, documents with revisions, the change log and access tokens.
-- The same text for both databases: TEXT for ids and words, BIGINT for numbers and milliseconds since 1970.

CREATE TABLE workspace (
    id TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    root_path TEXT,
    agents TEXT,
    seq BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL
);
CREATE TABLE folder (
    id TEXT PRIMARY KEY,
    workspace_id TEXT NOT NULL REFERENCES workspace (id),
    parent_folder_id TEXT REFERENCES folder (id),
    name TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    deleted_at BIGINT
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
    archived_at BIGINT
);
CREATE INDEX ix_thread_workspace ON thread (workspace_id);
CREATE TABLE thread_placement (
    thread_id TEXT PRIMARY KEY REFERENCES thread (id),
    workspace_id TEXT NOT NULL REFERENCES workspace (id),
    folder_id TEXT NOT NULL REFERENCES folder (id)
);
CREATE INDEX ix_thread_placement_workspace ON thread_placement (workspace_id);
CREATE INDEX ix_thread_placement_folder ON thread_placement (folder_id);
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
    save_reason TEXT NOT NULL CHECK (save_reason IN ('autosave', 'manual', 'archive', 'restore'))
);
CREATE UNIQUE INDEX uq_thread_agents_doc_revision_root ON thread_agents_doc_revision (workspace_id, version)
    WHERE folder_id IS NULL;
CREATE UNIQUE INDEX uq_thread_agents_doc_revision_folder
    ON thread_agents_doc_revision (workspace_id, folder_id, version) WHERE folder_id IS NOT NULL;
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
    role TEXT NOT NULL CHECK (role IN ('owner', 'editor', 'reader')),
    workspace_id TEXT REFERENCES workspace (id),
    secret_sha256 TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    created_by TEXT,
    revoked_at BIGINT,
    revoked_by TEXT
);
CREATE UNIQUE INDEX uq_access_token_secret ON access_token (secret_sha256);
CREATE UNIQUE INDEX uq_access_token_name ON access_token (name) WHERE revoked_at IS NULL;
