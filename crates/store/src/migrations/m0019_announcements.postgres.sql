-- Other gateways are told of a change when it is committed, and not by its transaction.

DROP TRIGGER change_log_notify ON change_log;
DROP FUNCTION foreword_notify_change();
