-- Who asked a turn to stop: the next turn is told.

ALTER TABLE turn ADD COLUMN stop_requested_by TEXT;
