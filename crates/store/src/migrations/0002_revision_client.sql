-- The program behind a save, as it calls itself. Who saved is the token's name, in `saved_by`.
ALTER TABLE thread_agents_doc_revision ADD COLUMN client TEXT;
