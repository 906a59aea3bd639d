-- How a decision about a call came about, in place of whether it was a standing answer.

ALTER TABLE turn_approval ADD COLUMN how TEXT NOT NULL DEFAULT 'asked'
    CHECK (how IN ('asked', 'standing', 'flag', 'unattended', 'expired'));
UPDATE turn_approval SET how = 'standing' WHERE standing = 1;
ALTER TABLE turn_approval DROP COLUMN standing;
