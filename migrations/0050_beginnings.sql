-- How users began who can log in otherwise by now, or never have.

-- migrate: up

create table beginnings (
  user_id object_id not null references users on delete cascade,
  -- anonymous: came without credentials, and has linked some since. registered: by a registration
  -- that logged nobody in; until a first login, whoever shows the password may take it over.
  kind text collate "C" not null check (kind in ('anonymous', 'registered')),
  primary key (user_id, kind)
);

-- migrate: down

drop table beginnings;
