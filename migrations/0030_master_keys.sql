-- What tells which master keys the secrets of this database are sealed with.

-- migrate: up

-- A row for each master key by which something may be sealed. A program that lacks one of them cannot
-- open all there is, and refuses to start.
create table master_keys (
  -- Derived of the key, and tells nothing of it.
  check_value bytea primary key check (octet_length(check_value) = 32),
  -- When it sealed first.
  created_at timestamptz not null default now()
);

-- migrate: down

drop table master_keys;
