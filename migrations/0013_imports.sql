-- Imports of users.

-- migrate: up

create table imports (
  app_id text collate "C" not null,
  source text collate "C" not null,
  import_id text collate "C" not null check (import_id ~ '^[0-9a-f]{24}$'),
  lines bigint not null default 0,
  bytes bigint not null default 0,
  digest bytea not null default '',
  created bigint not null default 0,
  updated bigint not null default 0,
  skipped bigint not null default 0,
  failed bigint not null default 0,
  results_before bigint not null default 0,
  results text not null default '',
  changed_at timestamptz not null default now(),
  finished_at timestamptz,
  primary key (app_id, source)
);

-- Maintenance removes by time.
create index imports_by_time on imports (changed_at);

comment on table imports is
  'The progress of imports, so that a killed one continues where it stopped.';
comment on column imports.source is 'The name that the operator gave the input.';
comment on column imports.lines is 'Lines of the input that are read and committed.';
comment on column imports.bytes is 'Bytes of the input that are read and committed.';
comment on column imports.digest is 'SHA-256 of these bytes.';
comment on column imports.created is 'Rows that created a user.';
comment on column imports.updated is 'Rows that changed a user.';
comment on column imports.skipped is 'Rows that changed nothing.';
comment on column imports.failed is 'Rows that were refused.';
comment on column imports.results_before is 'Bytes of results written before the last batch.';
comment on column imports.results is
  'The results of the last batch. A run killed before it wrote them to its file writes them again.';

-- migrate: down

drop table imports;
