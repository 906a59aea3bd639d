CREATE TRIGGER thread_is_placed AFTER INSERT ON thread_placement BEGIN
    UPDATE thread SET is_placed = 1 WHERE id = NEW.thread_id;
END;
CREATE TRIGGER thread_is_not_placed AFTER DELETE ON thread_placement BEGIN
    UPDATE thread SET is_placed = 0 WHERE id = OLD.thread_id;
END;
