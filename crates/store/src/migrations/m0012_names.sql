-- Workspace names are unique among those that are not archived; a save says what it was for.

ALTER TABLE workspace ADD COLUMN archived_at BIGINT;
-- Of workspaces with one name the oldest keeps it; the others get the end of their id behind it.
UPDATE workspace SET name = substr(name, 1, 180) || ' (' || substr(id, 25) || ')'
    WHERE EXISTS (SELECT 1 FROM workspace o WHERE o.name = workspace.name AND o.id < workspace.id);
CREATE UNIQUE INDEX uq_workspace_name ON workspace (name) WHERE archived_at IS NULL;

ALTER TABLE thread_agents_doc_revision ADD COLUMN message TEXT;
ALTER TABLE thread_agents_doc_revision ADD COLUMN restored_from BIGINT;

-- The turns of a workspace, newest first.
CREATE INDEX ix_turn_workspace ON turn (workspace_id, id);
