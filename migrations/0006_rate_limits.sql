-- Rate limits, which all workers share.

-- migrate: up

create table rate_limits (
  app_id text collate "C" not null,
  subject bytea not null,
  theoretical_arrival_at timestamptz not null,
  primary key (app_id, subject)
);

create index rate_limits_by_time on rate_limits (theoretical_arrival_at);

comment on table rate_limits is
  'Rate limits by the generic cell rate algorithm. A missing row is an unused limit.';
comment on column rate_limits.subject is 'A keyed hash of the attempted action and the caller.';
comment on column rate_limits.theoretical_arrival_at is
  'The theoretical arrival time: each attempt adds its share of the limit''s period. An attempt is refused if this would exceed the present time by more than the period.';

-- migrate: down

drop table rate_limits;
