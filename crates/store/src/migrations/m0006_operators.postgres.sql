ALTER TABLE access_token DROP CONSTRAINT access_token_role_check;
ALTER TABLE access_token ADD CONSTRAINT access_token_role_check
    CHECK (role IN ('owner', 'operator', 'editor', 'reader'));
ALTER TABLE access_token ADD COLUMN expires_at BIGINT;
