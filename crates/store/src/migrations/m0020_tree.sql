-- The whole tree and its first screen are read in the order of indexes, without sorting and without looking anything up.

DROP INDEX ix_thread_workspace;
CREATE INDEX ix_thread_workspace ON thread (workspace_id, id);
-- Whether it is placed is a column of the index: to SQLite an index of some rows is no better than one of all.
DROP INDEX ix_thread_root;
CREATE INDEX ix_thread_place ON thread (workspace_id, is_placed, id) WHERE archived_at IS NULL;
CREATE INDEX ix_thread_archived ON thread (workspace_id, archived_at) WHERE archived_at IS NOT NULL;
DROP INDEX ix_thread_placement_workspace;
CREATE INDEX ix_thread_placement_workspace ON thread_placement (workspace_id, thread_id, folder_id);
