-- Devices, the accounts on them, and sessions.

-- migrate: up

create table devices (
  device_id text collate "C" primary key check (device_id ~ '^[0-9a-f]{24}$'),
  app_id text collate "C" not null,
  secret_hash bytea not null,
  created_at timestamptz not null default now(),
  last_seen_at timestamptz not null default now(),
  previous_hash bytea,
  replaced_at timestamptz,
  inactive_since timestamptz
);

comment on table devices is
  'Installations and browsers. Several users can be on one, so it is no user''s data.';
comment on column devices.secret_hash is
  'A keyed hash of the secret by which the device lists and switches its users. Each login replaces the secret.';
comment on column devices.previous_hash is
  'The hash before the last login, accepted for 30 seconds for requests that were under way.';
comment on column devices.replaced_at is 'When the last login replaced the secret.';
comment on column devices.inactive_since is
  'Since when no user is active on the device; null while one may be.';

create table device_users (
  user_id text collate "C" not null references users on delete cascade,
  device_id text collate "C" not null,
  chosen_at timestamptz not null default now(),
  assurance smallint not null default 1
    constraint device_users_assurance_check check (assurance between 0 and 2),
  primary key (user_id, device_id)
);

create index device_users_by_device on device_users (device_id, chosen_at desc);

comment on table device_users is
  'Accounts on devices. Their state is computed: a user with a live session there is signed in, and of these the one with the latest chosen_at is active.';
comment on column device_users.chosen_at is
  'When the user last signed in on the device or was switched to.';
comment on column device_users.assurance is
  'How well the user authenticated there so far: 0 by an API key only, 1 by another credential, 2 by a second factor. Failed sign-ins of strangers do not limit a familiar device.';

create table sessions (
  user_id text collate "C" not null references users on delete cascade,
  session_id text collate "C" not null check (session_id ~ '^[0-9a-f]{24}$'),
  app_id text collate "C" not null,
  device_id text collate "C" not null,
  client_id text collate "C",
  provider text collate "C" not null,
  scope text collate "C" not null,
  refresh_generation integer not null default 1,
  refresh_salt bytea not null,
  refreshed_at timestamptz not null default now(),
  refreshes_clear_at timestamptz not null default now(),
  created_at timestamptz not null default now(),
  expires_at timestamptz not null,
  ended_at timestamptz,
  end_reason text collate "C",
  address inet,
  agent text,
  authenticated_at timestamptz not null default now(),
  key_id text collate "C",
  style text collate "C" not null default 'native',
  amr text collate "C" not null default '',
  browser_id text collate "C",
  audience text collate "C",
  issuer text collate "C",
  notifies boolean not null default false,
  primary key (user_id, session_id)
);

create index sessions_by_device on sessions (device_id) where ended_at is null;

-- Lists of a user's sessions, and the limit on their number.
create index sessions_live on sessions (user_id, session_id) where ended_at is null;

-- Maintenance removes by time.
create index sessions_by_time on sessions (least(ended_at, expires_at));

-- Messages to clients about sessions that have ended.
create index sessions_to_notify on sessions (ended_at) where notifies and ended_at is not null;

comment on table sessions is 'Sessions. Each access and refresh token belongs to one.';
comment on column sessions.client_id is
  'The OpenID Connect client; null for the other wires.';
comment on column sessions.provider is 'The provider of the identity that signed in.';
comment on column sessions.refresh_generation is
  'The number of the valid refresh token. An older number tells a repeated refresh from a stolen token.';
comment on column sessions.refresh_salt is
  'The refresh token is derived from this, the generation and the master key.';
comment on column sessions.refreshes_clear_at is
  'When the session may again refresh a hundred times at once. Each refresh moves it by six seconds.';
comment on column sessions.end_reason is
  'Why the session ended, such as logout, blocked or refresh_reuse.';
comment on column sessions.address is 'The IP address of the sign-in.';
comment on column sessions.agent is 'The User-Agent field of the sign-in.';
comment on column sessions.authenticated_at is
  'When the user last authenticated in this session.';
comment on column sessions.key_id is
  'The API key that opened the session, which ends with it; null for other credentials.';
comment on column sessions.style is
  'The wire of its tokens. No other wire refreshes or switches to the session.';
comment on column sessions.amr is
  'The authentication methods (RFC 8176) of the user, with spaces between them.';

comment on column sessions.browser_id is
  'The device of the user at the hosted pages from which a client of OpenID Connect got the session. Unlike the session there, it stays when the user signs in again.';
comment on column sessions.audience is
  'The resource server whose access tokens an OpenID Connect client gets; null for none.';
comment on column sessions.issuer is
  'The issuer of the tokens of an OpenID Connect client; null for the other wires.';
comment on column sessions.notifies is
  'Whether the client still has to get a message when the session ends.';

create view live_sessions as
  select session_id as id, device_id, provider, host(address) as address, agent, created_at,
    refreshed_at, expires_at, user_id
  from sessions where ended_at is null and expires_at > now();

comment on view live_sessions is 'Sessions that have neither ended nor expired.';

create function caller(of_user text, authority text) returns setof user_row
language sql stable rows 1 parallel safe
begin atomic
  -- Column by column: a call of user_row would build a row, which makes planning slower.
  select u.user_id, u.app_id, u.anonymous, u.email, u.email_verified, u.name, u.given_name,
    u.family_name, u.nickname, u.phone, u.locale, u.zone, u.picture, u.version, u.property_floor,
    u.blocked_at, u.created_at, u.updated_at, u.last_login_at, u.login_count
  from users u
  where u.user_id = of_user and case when authority like 'app:%' then authority = 'app:' || u.app_id
    else u.blocked_at is null and exists (
      select from sessions s
      where s.user_id = of_user and s.session_id = authority and s.ended_at is null
        and s.expires_at > now()) end;
end;

comment on function caller(text, text) is
  'Returns the user that a request concerns. The authority is a session: no row if it has ended or the user is blocked. Or it is app: and an id: no row if the user is another app''s. The planner inlines it.';

create function device_places(of_device text, switching boolean)
  returns table (
    user_id text, chosen_at timestamptz, session_id text, is_live boolean, is_active boolean)
  language sql stable parallel safe rows 4
begin atomic
  -- The subquery reads each user by its key with any statistics; a join could scan all users.
  select p.user_id, p.chosen_at, s.session_id, s.session_id is not null,
    s.session_id is not null and row_number() over (
      order by switching and s.session_id is null, p.chosen_at desc, p.user_id) = 1
      and p.chosen_at > coalesce(
        (select d.inactive_since from devices d where d.device_id = of_device), '-infinity')
  from device_users p
  left join lateral (
    select s.session_id from sessions s
    where s.device_id = p.device_id and s.user_id = p.user_id and s.ended_at is null
      and s.expires_at > now()
      and (select u.blocked_at is null from users u where u.user_id = p.user_id)
    order by s.created_at desc, s.session_id desc limit 1
  ) s on true
  where p.device_id = of_device;
end;

comment on function device_places(text, boolean) is
  'Returns the users of a device, with the live session of each and whether it is active. Without switching, no other user becomes active when the active one signs out. The planner inlines it.';

create function proved_device(of_device text, of_app text, shown bytea)
  returns table (device_id text, until timestamptz)
  language sql stable parallel safe rows 1
begin atomic
  select d.device_id, case when d.secret_hash = shown then 'infinity' else d.replaced_at end
  from devices d
  where d.device_id = of_device and d.app_id = of_app
    and (d.secret_hash = shown
      or d.previous_hash = shown and d.replaced_at > now() - interval '30 seconds');
end;

comment on function proved_device(text, text, bytea) is
  'Returns one row if the presented hash authenticates the device. It acts for the users chosen there before `until`; a replaced secret never acts for the user of the login that replaced it. The planner inlines it.';

create function end_sessions(
  of_user text, reason text, by_actor text, from_address inet, from_agent text,
  one text default null, spared text default null, by_key text default null
) returns setof text
language sql
begin atomic
  with ended as (
    update sessions s set ended_at = now(), end_reason = reason
    where s.user_id = of_user and s.ended_at is null
      and (one is null or s.session_id = one
        or ' ' || s.scope || ' ' not like '% offline_access %' and s.browser_id = (
          select o.device_id from sessions o where o.user_id = of_user and o.session_id = one))
      and (spared is null or s.session_id <> spared)
      and (by_key is null or s.provider = 'api-key' and coalesce(s.key_id, by_key) = by_key)
    returning s.user_id, s.session_id, s.device_id, s.app_id
  ), places as (
    delete from device_users p
    where p.user_id = of_user and one is null and by_key is null and reason <> 'blocked'
      and not exists (
        select from sessions s
        where s.user_id = of_user and s.session_id = spared and s.device_id = p.device_id)
      -- Sessions are locked before places, as when a device forgets a user.
      and (select count(*) from ended) >= 0
    returning p.user_id, p.device_id
  ), removed as (
    select record_event(
      p.user_id, u.app_id, 'device_remove', by_actor, null, p.device_id, from_address, from_agent)
    from places p join users u on u.user_id = of_user
  ), facts as (
    select e.session_id, record_event(
      e.user_id, e.app_id, 'session_end', by_actor, e.session_id, e.device_id, from_address,
      from_agent, jsonb_build_object('reason', reason))
    from ended e
  )
  select f.session_id from facts f where (select count(*) from removed) >= 0;
end;

comment on function end_sessions(text, text, text, inet, text, text, text, text) is
  'Ends sessions and returns their ids: one, those of an API key, or all but an optional spared one. Ending a session at the hosted pages also ends the sessions that clients got in its browser, except those with offline_access. Ending all also removes the user from devices, except from that of the spared session. A blocked user stays on them, as an administrator can undo a block.';

create function revoke_credentials(
  of_user text, of_app text, by_actor text, from_address inet, from_agent text,
  spared_device text default null
) returns boolean
language sql
begin atomic
  with gone as (
    delete from identities i where i.user_id = of_user and i.provider not in ('password', 'email')
    returning i.provider
  ), subjects as (
    delete from identity_subjects s
    where s.user_id = of_user and s.provider not in ('email', 'auth0')
  ), keys as (
    delete from api_keys k where k.user_id = of_user
  ), places as (
    delete from device_users p
    where p.user_id = of_user and (spared_device is null or p.device_id <> spared_device)
    returning p.device_id
  ), changed as (
    update users u set version = u.version + 1, updated_at = now() where u.user_id = of_user
  ), facts as (
    select record_event(
      of_user, of_app, 'unlink', by_actor, null, null, from_address, from_agent,
      jsonb_build_object('provider', g.provider))
    from gone g where g.provider <> 'anonymous'
    union all
    select record_event(
      of_user, of_app, 'device_remove', by_actor, null, p.device_id, from_address, from_agent)
    from places p
  )
  select count(*) >= 0 from facts;
end;

comment on function revoke_credentials(text, text, text, inet, text, text) is
  'Revokes all credentials but the address: API keys, linked identities, and accounts on devices but an optional spared one.';

-- migrate: down

drop function revoke_credentials(text, text, text, inet, text, text);
drop function end_sessions(text, text, text, inet, text, text, text, text);
drop function proved_device(text, text, bytea);
drop function device_places(text, boolean);
drop function caller(text, text);
drop view live_sessions;
drop table sessions;
drop table device_users;
drop table devices;
