-- Devices, who is on them, and the sessions that tokens belong to.

-- migrate: up

-- One installation or browser. Not a user's data: several users may be on it.
create table devices (
  device_id object_id primary key,
  app_id object_id not null,
  -- A keyed hash of what proves the device when it lists or switches users.
  secret_hash bytea not null,
  created_at timestamptz not null default now(),
  last_seen_at timestamptz not null default now()
);

-- Who is known on a device. A state is not stored but seen: who has a session there that counts is
-- logged in, and the one of them that was chosen last is active. So whatever ends a session, the
-- next user is active at once, and no two are.
create table device_users (
  user_id object_id not null references users on delete cascade,
  -- No foreign key: on several nodes devices are spread otherwise than users.
  device_id object_id not null,
  -- When the user last logged in here or was switched to.
  chosen_at timestamptz not null default now(),
  primary key (user_id, device_id)
);

create index device_users_by_device on device_users (device_id, chosen_at desc);

create table sessions (
  user_id object_id not null references users on delete cascade,
  session_id object_id not null,
  app_id object_id not null,
  device_id object_id not null,
  -- The OpenID client it was opened for; null for the native and App Services wires.
  client_id text collate "C",
  provider text collate "C" not null,
  scope text collate "C" not null,
  -- The refresh token that counts is made of these with the master key, and of nothing without it.
  -- An older generation tells a repeated exchange from a stolen token.
  refresh_generation integer not null default 1,
  refresh_salt bytea not null,
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

-- Housekeeping removes by time.
create index sessions_by_time on sessions (least(ended_at, expires_at));

-- Who did what to whom, from where. Kept when the user is gone, hence no reference.
create table audit (
  -- The app's id when it was about no user, or an unknown one.
  user_id object_id not null,
  event_id object_id not null,
  app_id object_id not null,
  at timestamptz not null default now(),
  action text collate "C" not null,
  -- user, client: and its id, operator (the command line), or anyone.
  actor text collate "C" not null,
  session_id object_id,
  device_id object_id,
  address inet,
  agent text,
  detail jsonb not null default '{}',
  primary key (user_id, event_id)
);

-- An app's trail, and its retention: ids begin with their second.
create index audit_by_app on audit (app_id, event_id);

-- The user that a call is about. By the authority of a session: no row when it has ended or its user
-- is blocked. By that of an app, `app:` and its id, for its programs: no row when it is another
-- app's. Inlined by the planner, so that every statement checks it in its one round trip.
create function caller(of_user text, authority text) returns setof users
  language sql stable parallel safe rows 1
begin atomic
  select u.* from users u
  where u.user_id = of_user and case when authority like 'app:%' then authority = 'app:' || u.app_id
    else u.blocked_at is null and exists (
      select from sessions s
      where s.user_id = of_user and s.session_id = authority and s.ended_at is null
        and s.expires_at > now()) end;
end;

-- The users of a device: which session there counts, if any, and who is active. When users may not
-- be switched, nobody follows the one chosen last. Inlined by the planner.
create function device_places(of_device text, switching boolean)
  returns table (
    user_id text, chosen_at timestamptz, session_id text, is_live boolean, is_active boolean)
  language sql stable parallel safe rows 4
begin atomic
  select p.user_id, p.chosen_at, s.session_id, s.session_id is not null,
    s.session_id is not null and row_number() over (
      order by switching and s.session_id is null, p.chosen_at desc, p.user_id) = 1
  from device_users p
  join users u on u.user_id = p.user_id
  left join lateral (
    select s.session_id from sessions s
    where s.device_id = p.device_id and s.user_id = p.user_id and s.ended_at is null
      and s.expires_at > now() and u.blocked_at is null
    order by s.created_at desc, s.session_id desc limit 1
  ) s on true
  where p.device_id = of_device;
end;

-- migrate: down

drop function device_places;
drop function caller;
drop table audit;
drop table sessions;
drop table device_users;
drop table devices;
