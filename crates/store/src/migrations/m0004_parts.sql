-- Parts of a tree, and forgetting what is old.
-- A thread of the workspace root has no placement. Whether it has one is said here too, so that an index can find the
-- threads of the root among a hundred thousand others; triggers keep it true.

ALTER TABLE thread ADD COLUMN is_placed BIGINT NOT NULL DEFAULT 0 CHECK (is_placed IN (0, 1));
UPDATE thread SET is_placed = 1 WHERE id IN (SELECT thread_id FROM thread_placement);
CREATE INDEX ix_thread_root ON thread (workspace_id, id) WHERE archived_at IS NULL AND is_placed = 0;
DROP INDEX ix_thread_placement_folder;
CREATE INDEX ix_thread_placement_folder ON thread_placement (folder_id, thread_id);
CREATE INDEX ix_prompt_manifest_created ON prompt_manifest (created_at);
