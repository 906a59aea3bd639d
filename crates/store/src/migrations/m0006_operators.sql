-- Running turns asks for a role of its own, and tokens may expire.

CREATE INDEX ix_turn_workspace_running ON turn (workspace_id) WHERE status = 'running';
CREATE INDEX ix_turn_workspace_finished ON turn (workspace_id, finished_at);
