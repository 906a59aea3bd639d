-- Approvals of tool calls, requests to stop a turn, and what a thread leaves out of its requests.
-- The same text for both databases. What is allowed is 0 or 1: they have no boolean in common.

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
ALTER TABLE turn ADD COLUMN stop_requested_at BIGINT;
