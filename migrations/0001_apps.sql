-- Apps, and the keys that sign their tokens.
--
-- Ids are 24 hexadecimal characters, compared byte by byte. No triggers, no advisory locks, no
-- LISTEN: the schema can be spread over several nodes by user_id.

-- migrate: up

create domain object_id as text collate "C" check (value ~ '^[0-9a-f]{24}$');

-- An id for a row that a statement makes by itself: the second, the microsecond in it, so that ids
-- sort by time, and a random rest.
create function new_object_id() returns text
  language sql volatile parallel safe
  return (
    select lpad(to_hex(time / 1000000), 8, '0') || lpad(to_hex(time % 1000000), 5, '0')
      || left(replace(gen_random_uuid()::text, '-', ''), 11)
    from (select (extract(epoch from clock_timestamp()) * 1000000)::bigint) as now (time));

create table apps (
  app_id object_id primary key,
  name text collate "C" not null unique check (name ~ '^[a-z0-9][a-z0-9-]{0,62}$'),
  -- What the operator chose otherwise than the defaults, by the names that `dossier app set` takes.
  settings jsonb not null default '{}' check (jsonb_typeof(settings) = 'object'),
  version bigint not null default 1,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
);

-- An app to begin with.
insert into apps (app_id, name) values (new_object_id(), 'default');

-- The host names by which clients ask for an app.
create table app_hosts (
  host text collate "C" primary key check (host = lower(host)),
  app_id object_id not null references apps on delete cascade
);

create index app_hosts_by_app on app_hosts (app_id);

-- Those whose JWTs are a way in.
create table issuers (
  app_id object_id not null references apps on delete cascade,
  name text collate "C" not null check (name ~ '^[a-z0-9][a-z0-9-]{0,62}$'),
  issuer text not null,
  audience text not null,
  -- Where the keys are: at a URL, here, or a shared secret sealed with the master key.
  jwks_url text,
  jwks jsonb,
  secret bytea,
  -- Members of the profile, and the claims that they are taken from.
  claims jsonb not null default '{}' check (jsonb_typeof(claims) = 'object'),
  created_at timestamptz not null default now(),
  primary key (app_id, name),
  constraint issuers_keys check (num_nonnulls(jwks_url, jwks, secret) = 1)
);

-- Programs that call with a key of their own: an app's back end, or the operator's tools.
create table clients (
  client_id object_id primary key,
  -- Null for the operator's, who may do everything in every app.
  app_id object_id references apps on delete cascade,
  name text not null,
  scope text collate "C" not null,
  -- A keyed hash.
  key_hash bytea not null,
  disabled_at timestamptz,
  created_at timestamptz not null default now()
);

create index clients_by_app on clients (app_id);

create table signing_keys (
  app_id object_id not null references apps on delete cascade,
  key_id text collate "C" not null,
  -- What the key signs: access tokens of the native wire now; one row for each use later.
  purpose text collate "C" not null,
  algorithm text collate "C" not null,
  public_key bytea not null,
  -- Sealed with the operator's master key.
  private_key bytea not null,
  created_at timestamptz not null default now(),
  -- The newest key without this signs; the others verify until it has passed.
  retires_at timestamptz,
  primary key (app_id, key_id)
);

-- One signing key at a time, so that workers which start together agree on it.
create unique index signing_keys_current on signing_keys (app_id, purpose)
  where retires_at is null;

-- migrate: down

drop table signing_keys;
drop table clients;
drop table issuers;
drop table app_hosts;
drop table apps;
drop function new_object_id;
drop domain object_id;
