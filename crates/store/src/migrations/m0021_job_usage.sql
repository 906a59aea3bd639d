-- What background jobs cost: models are asked in them, and what that takes counts for a workspace's day.

ALTER TABLE background_job ADD COLUMN usage TEXT;
ALTER TABLE background_job ADD COLUMN used_at BIGINT;
CREATE INDEX ix_background_job_used ON background_job (workspace_id, used_at) WHERE used_at IS NOT NULL;
