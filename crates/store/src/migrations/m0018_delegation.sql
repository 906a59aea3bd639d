-- Work that a turn gives to another agent: a thread and a turn of its own, each of which knows where it comes from.

ALTER TABLE thread ADD COLUMN parent_thread_id TEXT REFERENCES thread (id);
ALTER TABLE thread ADD COLUMN parent_turn_id TEXT REFERENCES turn (id);
ALTER TABLE thread ADD COLUMN inherits_document BIGINT NOT NULL DEFAULT 0;
ALTER TABLE turn ADD COLUMN parent_turn_id TEXT REFERENCES turn (id);
CREATE INDEX ix_turn_parent ON turn (parent_turn_id) WHERE parent_turn_id IS NOT NULL;
