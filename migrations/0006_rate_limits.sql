-- Rate limits, which all workers share.

-- migrate: up

create table attempts (
  app_id text collate "C" not null,
  subject bytea not null,
  clear_at timestamptz not null,
  primary key (app_id, subject)
);

create index attempts_by_time on attempts (clear_at);

comment on table attempts is
  'Rate limits by the generic cell rate algorithm. A missing row is an unused limit.';
comment on column attempts.subject is 'A keyed hash of the attempted action and the caller.';
comment on column attempts.clear_at is
  'The theoretical arrival time: each attempt adds its share of the limit''s period. An attempt is refused if this would exceed the present time by more than the period.';

-- migrate: down

drop table attempts;
