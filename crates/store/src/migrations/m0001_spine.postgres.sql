-- PostgreSQL wakes the other gateways itself, inside the writing transaction, whoever writes.

CREATE FUNCTION foreword_notify_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_notify('foreword_change', NEW.workspace_id);
    RETURN NULL;
END $$;
CREATE TRIGGER change_log_notify AFTER INSERT ON change_log
    FOR EACH ROW EXECUTE FUNCTION foreword_notify_change();
CREATE FUNCTION foreword_notify_token() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_notify('foreword_token', NEW.id);
    RETURN NULL;
END $$;
CREATE TRIGGER access_token_notify AFTER UPDATE ON access_token
    FOR EACH ROW EXECUTE FUNCTION foreword_notify_token();
