-- Pictures of users, decoded and encoded anew: what is here can be shown to anybody.

-- migrate: up

create table pictures (
  user_id object_id not null references users on delete cascade,
  -- With 128 random bits: whoever has the URL was given it.
  name text collate "C" not null,
  -- Null when it is a file of that name in the operator's folder.
  body bytea,
  created_at timestamptz not null default now(),
  primary key (user_id, name)
);

-- Already compressed.
alter table pictures alter column body set storage external;

-- migrate: down

drop table pictures;
