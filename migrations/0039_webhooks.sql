-- Webhooks: receivers of the events of an app, how far each is, and what it gets.

-- migrate: up

create table webhooks (
  webhook_id text collate "C" primary key check (webhook_id ~ '^[0-9a-f]{24}$'),
  app_id text collate "C" not null references apps on delete cascade,
  secret bytea not null,
  attributes jsonb not null default '{}' check (jsonb_typeof(attributes) = 'object'),
  version bigint not null default 1,
  created_at timestamptz not null default now()
);

create index webhooks_app on webhooks (app_id);

comment on table webhooks is 'Receivers to which workers send the events of an app.';
comment on column webhooks.secret is
  'The keys that sign deliveries, as JSON that is encrypted with the master key.';
comment on column webhooks.attributes is
  'What differs from the defaults, by the names that `dossier webhook set` takes.';
comment on column webhooks.version is 'Grows by one with each change.';

create table webhook_progress (
  webhook_id text collate "C" primary key,
  position bigint not null,
  last_delivery bigint not null default 0,
  failures integer not null default 0,
  failing_since timestamptz,
  not_before timestamptz,
  last_success_at timestamptz,
  last_failure_at timestamptz,
  last_error text
);

comment on table webhook_progress is
  'How far each webhook is in the feed of its app, and how its receiver answers.';
comment on column webhook_progress.position is
  'The last position of the feed for which deliveries exist; whoever adds deliveries locks this row.';
comment on column webhook_progress.last_delivery is 'The number of the newest delivery.';
comment on column webhook_progress.failures is 'The attempts that have failed since the last success.';
comment on column webhook_progress.failing_since is 'The first of these failures; null without one.';
comment on column webhook_progress.not_before is
  'No attempt begins before this time: the receiver has asked for a pause, or fails. Null for now.';

create table webhook_deliveries (
  webhook_id text collate "C" not null,
  delivery_id text collate "C" not null check (delivery_id ~ '^[0-9a-f]{24}$'),
  event_id text collate "C" not null,
  user_id text collate "C" not null,
  type text collate "C" not null,
  at timestamptz not null,
  data jsonb not null,
  state text collate "C" not null default 'waiting'
    check (state in ('waiting', 'delivered', 'failed')),
  attempts integer not null default 0,
  due_at timestamptz not null,
  claimed_until timestamptz,
  attempted_at timestamptz,
  ended_at timestamptz,
  status integer,
  duration_ms integer,
  error text,
  answer text,
  primary key (webhook_id, delivery_id)
);

-- The deliveries that a worker may send now.
create index webhook_deliveries_due on webhook_deliveries (webhook_id, due_at, delivery_id)
  where state = 'waiting';
-- A delivery waits for earlier ones of its user.
create index webhook_deliveries_of_user on webhook_deliveries (webhook_id, user_id, delivery_id)
  where state = 'waiting';
-- Attempts under way.
create index webhook_deliveries_claimed on webhook_deliveries (webhook_id, claimed_until)
  where claimed_until is not null;
create index webhook_deliveries_by_state on webhook_deliveries (webhook_id, state, delivery_id);
-- Maintenance removes by time.
create index webhook_deliveries_ended on webhook_deliveries (webhook_id, state, ended_at)
  where ended_at is not null;

comment on table webhook_deliveries is 'Events for a webhook, each with the result of its last attempt.';
comment on column webhook_deliveries.delivery_id is
  'The number of the delivery among those of the webhook, in hexadecimal.';
comment on column webhook_deliveries.user_id is 'The user of the event; empty without one.';
comment on column webhook_deliveries.due_at is
  'When it may be sent; while an attempt is under way, when that attempt counts as lost.';
comment on column webhook_deliveries.claimed_until is
  'When the attempt under way counts as lost; null without one.';
comment on column webhook_deliveries.answer is 'The first 512 bytes of the last answer.';

do $$ begin
  if to_regclass('pg_dist_partition') is not null then
    if exists (select 1 from pg_dist_partition where logicalrelid = 'users'::regclass) then
      perform create_reference_table('webhooks');
      perform create_distributed_table('webhook_progress', 'webhook_id', colocate_with => 'users');
      perform create_distributed_table('webhook_deliveries', 'webhook_id', colocate_with => 'users');
    end if;
  end if;
end $$;

-- migrate: down

drop table webhook_deliveries;
drop table webhook_progress;
drop table webhooks;
