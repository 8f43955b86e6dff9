-- The hosts that serve from this database, for the doctor to compare.

-- migrate: up

create table hosts (
  name text collate "C" not null primary key check (name <> ''),
  version text not null,
  -- The name of the master key by which the settings are hashed.
  master_key text not null,
  -- Of each setting that all hosts share, a keyed hash of its value.
  settings jsonb not null,
  -- When a worker of the host last wrote this row.
  seen_at timestamptz not null
);

-- migrate: down

drop table hosts;
