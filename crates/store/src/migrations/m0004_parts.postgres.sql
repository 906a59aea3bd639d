CREATE FUNCTION foreword_place_thread() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'INSERT' THEN
        UPDATE thread SET is_placed = 1 WHERE id = NEW.thread_id;
    ELSE
        UPDATE thread SET is_placed = 0 WHERE id = OLD.thread_id;
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER thread_placement_place AFTER INSERT OR DELETE ON thread_placement
    FOR EACH ROW EXECUTE FUNCTION foreword_place_thread();
