-- The hidden tools that a thread has asked for, which its later turns have from the beginning: a JSON list of names in the
-- order in which they were asked for.

CREATE TABLE requested_tools (
    thread_id TEXT PRIMARY KEY REFERENCES thread (id),
    workspace_id TEXT NOT NULL REFERENCES workspace (id),
    names TEXT NOT NULL,
    updated_at BIGINT NOT NULL
);
