-- Older versions kept a thread's session from the beginning of its first turn, also when that turn failed, and every later
-- one went on with instructions that may have been out of date. A session belongs to the first turn that completes: without
-- one, the next turn reads the files anew.

DELETE FROM session WHERE NOT EXISTS (
    SELECT 1 FROM turn WHERE turn.thread_id = session.thread_id AND turn.status = 'completed'
);
