-- Numbers of each app by day, for charts.

-- migrate: up

create table daily_counts (
  app_id text collate "C" not null references apps on delete cascade,
  day date not null,
  name text collate "C" not null check (name in (
    'sign_ups', 'sign_ins', 'failures', 'rate_limits', 'users', 'active_users')),
  value bigint not null,
  primary key (app_id, day, name)
);

comment on table daily_counts is
  'Numbers of an app on a day in UTC. A row is missing until its number is counted.';
comment on column daily_counts.name is
  'sign_ups: new users; failures: refused sign-ins; rate_limits: limits that were used up; users and active_users: counted in the night after the day.';

create table count_progress (
  app_id text collate "C" primary key references apps on delete cascade,
  counted_to text collate "C" not null check (counted_to ~ '^[0-9a-f]{24}$'),
  recounted_on date
);

comment on table count_progress is 'How far the numbers of an app are counted.';
comment on column count_progress.counted_to is 'Events with smaller ids are counted.';
comment on column count_progress.recounted_on is 'The last day that was counted a second time.';

-- migrate: down

drop table count_progress;
drop table daily_counts;
