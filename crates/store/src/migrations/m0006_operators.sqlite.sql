-- SQLite cannot change a CHECK, so the table is made anew.

CREATE TABLE access_token_next (
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
INSERT INTO access_token_next (id, name, role, workspace_id, secret_sha256, created_at, created_by, revoked_at,
        revoked_by)
    SELECT id, name, role, workspace_id, secret_sha256, created_at, created_by, revoked_at, revoked_by
    FROM access_token;
DROP TABLE access_token;
ALTER TABLE access_token_next RENAME TO access_token;
CREATE UNIQUE INDEX uq_access_token_secret ON access_token (secret_sha256);
CREATE UNIQUE INDEX uq_access_token_name ON access_token (name) WHERE revoked_at IS NULL;
