-- Whether a call was allowed in advance, with all of its tool in the turn; 0 or 1.

ALTER TABLE turn_approval ADD COLUMN standing BIGINT NOT NULL DEFAULT 0 CHECK (standing IN (0, 1));
