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
  inactive_since timestamptz,
  user_ids text[] collate "C" not null default '{}'
);

comment on table devices is
  'Installations and browsers. Several users can be on one, so it is no user''s data.';
comment on column devices.secret_hash is
  'A keyed hash of the secret by which the device lists and switches its users. Each login replaces the secret.';
comment on column devices.previous_hash is
  'The hash before the last login, accepted for 30 seconds for requests that were under way.';
comment on column devices.replaced_at is 'When the last login replaced the secret.';
comment on column devices.inactive_since is
  'Users last activated at or before this time are inactive; null for no such time.';
comment on column devices.user_ids is
  'The users who have signed in on the device. The rows in device_accounts decide who is still known there: a user without one does not count.';

create table device_accounts (
  user_id text collate "C" not null references users on delete cascade,
  device_id text collate "C" not null,
  activated_at timestamptz not null default now(),
  assurance smallint not null default 1
    constraint device_accounts_assurance_check check (assurance between 0 and 2),
  primary key (user_id, device_id)
);

comment on table device_accounts is
  'Accounts on devices. Their state is computed: a user with a live session there is signed in, and of these the one with the latest activated_at is active.';
comment on column device_accounts.activated_at is
  'When the user last signed in on the device or was switched to.';
comment on column device_accounts.assurance is
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
  refresh_theoretical_arrival_at timestamptz not null default now(),
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

-- Lists of a user's sessions, the limit on their number, and the session on a device.
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
comment on column sessions.refresh_theoretical_arrival_at is
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

-- migrate: down

drop view live_sessions;
drop table sessions;
drop table device_accounts;
drop table devices;
