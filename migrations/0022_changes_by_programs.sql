-- What a program changes of a user's data is recorded by the statement that changes it.

-- migrate: up

-- Adds the fact to the audit trail; nothing for who is no program, or when nothing was changed: null
-- goes in, and null comes out.
create function record_change(of_user text, of_app text, change jsonb) returns boolean
language sql strict
begin atomic
  insert into audit (user_id, event_id, app_id, action, actor, address, agent, detail)
  values (of_user, new_object_id(), of_app, 'data_change', change ->> 'actor',
    (change ->> 'address')::inet, change ->> 'agent', jsonb_build_object('what', change -> 'what'))
  returning true;
end;

-- migrate: down

drop function record_change(text, text, jsonb);
