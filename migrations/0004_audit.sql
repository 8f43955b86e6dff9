-- The audit log.

-- migrate: up

create table audit (
  user_id text collate "C" not null,
  event_id text collate "C" not null check (event_id ~ '^[0-9a-f]{24}$'),
  app_id text collate "C" not null,
  at timestamptz not null default now(),
  action text collate "C" not null,
  actor text collate "C" not null,
  session_id text collate "C",
  device_id text collate "C",
  address inet,
  agent text,
  detail jsonb not null default '{}',
  primary key (user_id, event_id)
);

-- An app's events in order, and their retention: ids begin with their second.
create index audit_by_app on audit (app_id, event_id);

-- Maintenance removes these events earlier than others.
create index audit_own_changes on audit (app_id, event_id)
  where action = 'data_change' and actor = 'user';

comment on table audit is
  'Audit events. They outlive the user, so no foreign key refers to users.';
comment on column audit.user_id is
  'The user concerned; the id of the app if the event concerns no known user.';
comment on column audit.actor is
  'user; client: followed by the id of the client; operator for the command line; or anyone.';
comment on column audit.address is 'The IP address of the caller.';
comment on column audit.agent is 'The User-Agent field of the request.';
comment on column audit.detail is 'Members that depend on the action.';

create function record_event(
  of_user text, of_app text, of_action text, by_actor text, of_session text, of_device text,
  from_address inet, from_agent text, facts jsonb default '{}', as_event text default null
) returns text
language plpgsql
as $$
declare
  event text := coalesce(as_event, new_object_id());
begin
  insert into audit (
    user_id, event_id, app_id, action, actor, session_id, device_id, address, agent, detail)
  values (
    of_user, event, of_app, of_action, by_actor, of_session, of_device, from_address, from_agent,
    facts);
  return event;
end
$$;

comment on function
  record_event(text, text, text, text, text, text, inet, text, jsonb, text)
is 'Inserts an audit event and returns its id.';

create function record_change(of_user text, of_app text, change jsonb) returns boolean
language sql strict
begin atomic
  select record_event(
    of_user, of_app, 'data_change', change ->> 'actor', change ->> 'session', null,
    (change ->> 'address')::inet, change ->> 'agent', jsonb_build_object('what', change -> 'what'))
    is not null;
end;

comment on function record_change(text, text, jsonb) is
  'Inserts the event of a change of user data. Does nothing for a null argument, which the statement passes if it changed nothing.';

create view audit_entries as
  select a.event_id as id, a.at, a.action, a.actor, nullif(a.user_id, a.app_id) as user_id,
    a.session_id, a.device_id, host(a.address) as address, a.agent, a.detail, p.name as app,
    a.user_id as subject_id, a.app_id
  from audit a left join apps p on p.app_id = a.app_id;

comment on view audit_entries is
  'Audit events as the API shows them. user_id is null if the event concerns the app itself; subject_id never is.';

-- migrate: down

drop view audit_entries;
drop function record_change(text, text, jsonb);
drop function record_event(text, text, text, text, text, text, inet, text, jsonb, text);
drop table audit;
