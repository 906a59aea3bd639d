-- Work that is to be done after a turn, by whichever gateway claims it first. The same text for both databases.

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
    -- When it is due, or when whoever runs it counts as dead.
    due_at BIGINT NOT NULL,
    owner TEXT,
    error TEXT,
    created_at BIGINT NOT NULL,
    finished_at BIGINT,
    CHECK ((status = 'running') = (owner IS NOT NULL))
);
CREATE UNIQUE INDEX uq_background_job_turn ON background_job (turn_id, kind);
CREATE INDEX ix_background_job_due ON background_job (due_at) WHERE status IN ('waiting', 'running');
