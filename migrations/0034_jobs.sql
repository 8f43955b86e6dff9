-- Jobs that administrators start: changes of many users, imports and exports.

-- migrate: up

create table jobs (
  job_id text collate "C" primary key check (job_id ~ '^[0-9a-f]{24}$'),
  app_id text collate "C" not null,
  administrator_id text collate "C",
  kind text collate "C" not null check (kind in ('bulk', 'import', 'export')),
  state text collate "C" not null check (
    state in ('open', 'checked', 'running', 'done', 'stopped', 'failed')),
  parameters jsonb not null default '{}',
  progress jsonb not null default '{}',
  input_parts integer not null default 0,
  input_bytes bigint not null default 0,
  claim bigint not null default 0,
  tries integer not null default 0,
  claimed_until timestamptz not null default now(),
  error text collate "C",
  created_at timestamptz not null default now(),
  started_at timestamptz,
  ended_at timestamptz
);

create unique index jobs_running on jobs (app_id) where state = 'running';
create index jobs_by_turn on jobs (claimed_until) where state = 'running';
create index jobs_by_app on jobs (app_id, job_id);

create table job_parts (
  job_id text collate "C" not null,
  part text collate "C" not null,
  sealed bytea not null,
  created_at timestamptz not null default now(),
  primary key (job_id, part)
);

-- Maintenance removes by time.
create index job_parts_by_time on job_parts (created_at);

comment on table jobs is
  'Work of administrators that a worker does beside requests. An app has at most one that runs.';
comment on column jobs.administrator_id is 'Who has started it; null for the operator.';
comment on column jobs.parameters is 'What to do, by the names that the API has.';
comment on column jobs.progress is 'Where the job is, what it has counted, and its first errors.';
comment on column jobs.input_parts is 'How many parts of input were uploaded.';
comment on column jobs.claim is
  'Grows by one with each claim. A worker whose number is older has lost the job, and writes nothing.';
comment on column jobs.tries is 'Claims since the job got on, so that it does not run for ever.';
comment on column jobs.claimed_until is 'Until then no other worker claims the job.';
comment on column jobs.error is 'The code of the error that ended the job.';
comment on table job_parts is
  'The input and the results of jobs, encrypted with the master key, at most 256 KB each.';
comment on column job_parts.part is
  'The place of the part: in and the number of the upload and of the part in it, or out and its number.';

-- migrate: down

drop table job_parts;
drop table jobs;
