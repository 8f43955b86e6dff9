-- Log streams: consumers that send the events of an app to a log system, and how far each is.

-- migrate: up

create table log_streams (
  stream_id text collate "C" primary key check (stream_id ~ '^[0-9a-f]{24}$'),
  app_id text collate "C" not null references apps on delete cascade,
  header_value bytea,
  attributes jsonb not null default '{}' check (jsonb_typeof(attributes) = 'object'),
  version bigint not null default 1,
  created_at timestamptz not null default now()
);

create index log_streams_app on log_streams (app_id);

comment on table log_streams is 'Log systems to which workers send the events of an app.';
comment on column log_streams.header_value is
  'The secret that authenticates Dossier, encrypted with the master key; null without one.';
comment on column log_streams.attributes is
  'What differs from the defaults, by the names that `dossier log-stream set` takes.';
comment on column log_streams.version is 'Grows by one with each change.';

create table log_stream_progress (
  stream_id text collate "C" primary key,
  position bigint not null,
  holder text collate "C",
  leased_until timestamptz,
  failures integer not null default 0,
  failing_since timestamptz,
  not_before timestamptz,
  last_success_at timestamptz,
  last_failure_at timestamptz,
  last_error text,
  lost bigint not null default 0,
  unreported bigint not null default 0,
  lost_at timestamptz
);

comment on table log_stream_progress is
  'How far each log stream is in the feed of its app, and how its receiver answers.';
comment on column log_stream_progress.position is
  'The last position of the feed that the receiver has accepted.';
comment on column log_stream_progress.holder is
  'The worker that sends the stream now; null without one.';
comment on column log_stream_progress.leased_until is
  'When another worker may claim the stream, if its holder does nothing meanwhile.';
comment on column log_stream_progress.failures is 'The failures since the last success.';
comment on column log_stream_progress.failing_since is 'The first of these failures; null without one.';
comment on column log_stream_progress.not_before is
  'No attempt begins before this time; null for now.';
comment on column log_stream_progress.lost is
  'The events that the feed has removed before they were sent.';
comment on column log_stream_progress.unreported is
  'Those of them that the receiver does not know of yet.';

do $$ begin
  if to_regclass('pg_dist_partition') is not null then
    if exists (select 1 from pg_dist_partition where logicalrelid = 'users'::regclass) then
      perform create_reference_table('log_streams');
      perform create_distributed_table('log_stream_progress', 'stream_id', colocate_with => 'users');
    end if;
  end if;
end $$;

-- migrate: down

drop table log_stream_progress;
drop table log_streams;
