-- What was in a folder when it was deleted, so that bringing it back can say what does not come with it. NULL for folders
-- that older versions deleted: nobody wrote it down.

ALTER TABLE folder ADD COLUMN moved_out TEXT;
