-- Devices, who is on them, and the sessions that tokens belong to.

-- migrate: up

-- One installation or browser. Not a user's data: several users may be on it.
create table devices (
  device_id object_id primary key,
  app_id object_id not null,
  -- A keyed hash of what proves the device when it switches users; null until it is given one.
  secret_hash bytea,
  name text,
  created_at timestamptz not null default now(),
  last_seen_at timestamptz not null default now()
);

create table device_users (
  user_id object_id not null references users on delete cascade,
  -- No foreign key: on several nodes devices are spread otherwise than users.
  device_id object_id not null,
  state text collate "C" not null check (state in ('active', 'inactive', 'logged_out')),
  last_active_at timestamptz not null default now(),
  primary key (user_id, device_id)
);

-- The account chooser of a device, and who comes next when the active user leaves.
create index device_users_by_device on device_users (device_id, last_active_at desc);

create table sessions (
  user_id object_id not null references users on delete cascade,
  session_id object_id not null,
  app_id object_id not null,
  device_id object_id not null,
  -- The OpenID client it was opened for; null for the native and App Services wires.
  client_id text collate "C",
  provider text collate "C" not null,
  scope text collate "C" not null,
  -- Refresh tokens by keyed hash: the current one, and its predecessor with the time it was
  -- exchanged, so that a repeated exchange can be told from a stolen token.
  refresh_generation integer not null default 1,
  refresh_hash bytea not null,
  refresh_previous_hash bytea,
  refreshed_at timestamptz not null default now(),
  created_at timestamptz not null default now(),
  expires_at timestamptz not null,
  ended_at timestamptz,
  -- logout, ended, refresh_reuse, blocked, password_changed …
  end_reason text collate "C",
  address inet,
  agent text,
  primary key (user_id, session_id)
);

create index sessions_by_device on sessions (device_id) where ended_at is null;

-- Who did what to whom, from where. Kept when the user is gone, hence no reference.
create table audit (
  user_id object_id not null,
  event_id object_id not null,
  app_id object_id not null,
  at timestamptz not null default now(),
  action text collate "C" not null,
  -- user, client or operator, and which.
  actor text collate "C" not null,
  session_id object_id,
  device_id object_id,
  address inet,
  agent text,
  detail jsonb not null default '{}',
  primary key (user_id, event_id)
);

-- Retention removes by time.
create index audit_by_time on audit (at);

-- The user of a session that counts; no row when it has ended or its user is blocked. Inlined by
-- the planner, so that every statement of a caller checks the session in its one round trip.
create function caller(of_user text, of_session text) returns setof users
  language sql stable parallel safe rows 1
begin atomic
  select u.* from sessions s join users u on u.user_id = s.user_id
  where s.user_id = of_user and s.session_id = of_session
    and s.ended_at is null and s.expires_at > now() and u.blocked_at is null;
end;

-- migrate: down

drop function caller;
drop table audit;
drop table sessions;
drop table device_users;
drop table devices;
