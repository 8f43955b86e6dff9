-- The request of an audit event, which joins the audit log to the log of requests.

-- migrate: up

alter table audit add column request_id text collate "C";

comment on column audit.request_id is
  'The id of the request in the log and in X-Request-Id; null for events of no request.';
comment on column audit.actor is
  'user; client: followed by the id of the client; administrator: followed by the id; operator: followed by the name of the person for the command line; system for maintenance; or unauthenticated.';

create or replace view audit_entries as
  select a.event_id as id, a.at, a.action, a.actor, nullif(a.user_id, a.app_id) as user_id,
    a.session_id, a.device_id, host(a.address) as address, a.agent, a.detail, p.name as app,
    a.user_id as subject_id, a.app_id, a.request_id
  from audit a left join apps p on p.app_id = a.app_id;

create or replace function move_events(former text) returns void
  language plpgsql security definer as $$
begin
  if not has_table_privilege(session_user, 'audit', 'insert') then
    raise exception 'only a role that adds events moves them' using errcode = 'insufficient_privilege';
  end if;
  if exists (select 1 from users u where u.user_id = former)
    or exists (select 1 from apps p where p.app_id = former) or former = repeat('0', 24) then
    raise exception 'the owner of these events exists' using errcode = 'insufficient_privilege';
  end if;
  insert into audit (user_id, event_id, app_id, at, action, actor, session_id, device_id, address,
    agent, detail, ordinal, pending, request_id)
  select a.app_id, a.event_id, a.app_id, a.at, a.action, a.actor, a.session_id, a.device_id,
    a.address, a.agent, a.detail || jsonb_build_object('former_user', a.user_id), a.ordinal, a.pending,
    a.request_id
  from audit a where a.user_id = former;
  delete from audit a where a.user_id = former;
end
$$;

do $$ begin
  execute format('alter function move_events(text) set search_path to %I, pg_temp',
    current_schema());
end $$;

-- migrate: down

create or replace function move_events(former text) returns void
  language plpgsql security definer as $$
begin
  if not has_table_privilege(session_user, 'audit', 'insert') then
    raise exception 'only a role that adds events moves them' using errcode = 'insufficient_privilege';
  end if;
  if exists (select 1 from users u where u.user_id = former)
    or exists (select 1 from apps p where p.app_id = former) or former = repeat('0', 24) then
    raise exception 'the owner of these events exists' using errcode = 'insufficient_privilege';
  end if;
  insert into audit (user_id, event_id, app_id, at, action, actor, session_id, device_id, address,
    agent, detail, ordinal, pending)
  select a.app_id, a.event_id, a.app_id, a.at, a.action, a.actor, a.session_id, a.device_id,
    a.address, a.agent, a.detail || jsonb_build_object('former_user', a.user_id), a.ordinal, a.pending
  from audit a where a.user_id = former;
  delete from audit a where a.user_id = former;
end
$$;

do $$ begin
  execute format('alter function move_events(text) set search_path to %I, pg_temp',
    current_schema());
end $$;

drop view audit_entries;

create view audit_entries as
  select a.event_id as id, a.at, a.action, a.actor, nullif(a.user_id, a.app_id) as user_id,
    a.session_id, a.device_id, host(a.address) as address, a.agent, a.detail, p.name as app,
    a.user_id as subject_id, a.app_id
  from audit a left join apps p on p.app_id = a.app_id;

comment on view audit_entries is
  'Audit events as the API shows them. user_id is null if the event concerns the app itself; subject_id never is.';
comment on column audit.actor is
  'user; client: followed by the id of the client; operator for the command line; system for maintenance; or unauthenticated.';

alter table audit drop column request_id;
