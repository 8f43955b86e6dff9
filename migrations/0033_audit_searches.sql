-- Searches of the audit log by action and by actor, and for a session by its id.

-- migrate: up

create index audit_by_action on audit (app_id, action, event_id);
create index audit_by_actor on audit (app_id, actor, event_id);
create index sessions_by_id on sessions (session_id);

-- migrate: down

drop index sessions_by_id;
drop index audit_by_actor;
drop index audit_by_action;
