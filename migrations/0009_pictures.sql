-- Pictures of users.

-- migrate: up

create table pictures (
  user_id text collate "C" not null references users on delete cascade,
  name text collate "C" not null,
  body bytea,
  created_at timestamptz not null default now(),
  primary key (user_id, name)
);

-- Pictures are compressed already.
alter table pictures alter column body set storage external;

comment on table pictures is
  'Pictures of users, decoded and encoded again, so that they contain nothing else.';
comment on column pictures.name is
  'Its name in the URL. It has 128 random bits, so only those who got the URL know it.';
comment on column pictures.body is
  'The picture; null if it is a file of that name in the operator''s folder.';

-- migrate: down

drop table pictures;
