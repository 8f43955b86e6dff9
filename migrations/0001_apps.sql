-- Apps, and the keys that sign their tokens.
--
-- Ids are 24 hexadecimal characters, compared byte by byte. No triggers, no advisory locks, no
-- LISTEN: the schema can be spread over several nodes by user_id.

-- migrate: up

create domain object_id as text collate "C" check (value ~ '^[0-9a-f]{24}$');

create table apps (
  app_id object_id primary key,
  name text collate "C" not null unique check (name ~ '^[a-z0-9][a-z0-9-]{0,62}$'),
  -- What the operator chose otherwise than the defaults.
  settings jsonb not null default '{}' check (jsonb_typeof(settings) = 'object'),
  version bigint not null default 1,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
);

-- An app to begin with; the id holds the second of its creation and a random rest, as all ids do.
insert into apps (app_id, name)
select lpad(to_hex(extract(epoch from now())::bigint), 8, '0')
  || left(replace(gen_random_uuid()::text, '-', ''), 16), 'default';

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
drop table apps;
drop domain object_id;
