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

-- A reset of rate limits looks for the networks of refusals.
create index audit_refusals on audit (user_id, event_id) where action = 'rate_limited';

comment on table audit is
  'Audit events. They outlive the user, so no foreign key refers to users.';
comment on column audit.user_id is
  'The user concerned; the id of the app if the event concerns no known user.';
comment on column audit.actor is
  'user; client: followed by the id of the client; operator for the command line; system for maintenance; or unauthenticated.';
comment on column audit.address is 'The IP address of the caller.';
comment on column audit.agent is 'The User-Agent field of the request.';
comment on column audit.detail is 'Members that depend on the action.';

create view audit_entries as
  select a.event_id as id, a.at, a.action, a.actor, nullif(a.user_id, a.app_id) as user_id,
    a.session_id, a.device_id, host(a.address) as address, a.agent, a.detail, p.name as app,
    a.user_id as subject_id, a.app_id
  from audit a left join apps p on p.app_id = a.app_id;

comment on view audit_entries is
  'Audit events as the API shows them. user_id is null if the event concerns the app itself; subject_id never is.';

-- migrate: down

drop view audit_entries;
drop table audit;
