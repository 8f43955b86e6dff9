-- Events of changes that users make to their own data.

-- migrate: up

create or replace function record_change(of_user text, of_app text, change jsonb) returns boolean
language sql strict
begin atomic
  insert into audit (
    user_id, event_id, app_id, action, actor, session_id, address, agent, detail)
  values (of_user, new_object_id(), of_app, 'data_change', change ->> 'actor',
    change ->> 'session', (change ->> 'address')::inet, change ->> 'agent',
    jsonb_build_object('what', change -> 'what'))
  returning true;
end;

-- Housekeeping removes these events earlier than others.
create index audit_own_changes on audit (app_id, event_id)
  where action = 'data_change' and actor = 'user';

-- migrate: down

drop index audit_own_changes;

create or replace function record_change(of_user text, of_app text, change jsonb) returns boolean
language sql strict
begin atomic
  insert into audit (user_id, event_id, app_id, action, actor, address, agent, detail)
  values (of_user, new_object_id(), of_app, 'data_change', change ->> 'actor',
    (change ->> 'address')::inet, change ->> 'agent', jsonb_build_object('what', change -> 'what'))
  returning true;
end;
