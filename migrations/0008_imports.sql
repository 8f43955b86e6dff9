-- Imports of users: how far each has come, so that one that was killed goes on where it was.

-- migrate: up

create table imports (
  app_id object_id not null,
  -- What the operator called the input.
  source text collate "C" not null,
  import_id object_id not null,
  -- What was read of the input and is committed: lines, bytes, and their SHA-256.
  lines bigint not null default 0,
  bytes bigint not null default 0,
  digest bytea not null default '',
  created bigint not null default 0,
  updated bigint not null default 0,
  skipped bigint not null default 0,
  failed bigint not null default 0,
  -- The results of the last batch, and how many bytes of results were written before them: a run
  -- that was killed between the batch and its file makes up for it.
  results_before bigint not null default 0,
  results text not null default '',
  started_at timestamptz not null default now(),
  changed_at timestamptz not null default now(),
  finished_at timestamptz,
  primary key (app_id, source)
);

-- Housekeeping removes by time.
create index imports_by_time on imports (changed_at);

-- migrate: down

drop table imports;
