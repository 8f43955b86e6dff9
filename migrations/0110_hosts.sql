-- The hosts that serve from this database, which `dossier doctor` compares.

-- migrate: up

create table hosts (
  name text collate "C" not null primary key check (name <> ''),
  version text not null,
  -- The name of the master key that hashes the settings.
  master_key text not null,
  -- A keyed hash of the value of each setting that all hosts share.
  settings jsonb not null,
  -- When a worker of the host last wrote this row.
  seen_at timestamptz not null
);

-- migrate: down

drop table hosts;
