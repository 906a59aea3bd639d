-- Who came in, who was turned away, and who decided what; and the token that a turn was begun with, whose name may be
-- given again.

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

ALTER TABLE turn ADD COLUMN token_id TEXT REFERENCES access_token (id);
