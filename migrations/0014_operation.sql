-- Operation: the hosts and master keys of the deployment, and maintenance.

-- migrate: up

create table hosts (
  name text collate "C" not null primary key check (name <> ''),
  version text not null,
  master_key text not null,
  settings jsonb not null,
  seen_at timestamptz not null
);

comment on table hosts is
  'Hosts that serve from this database. `dossier doctor` compares them.';
comment on column hosts.version is 'The version of its programs.';
comment on column hosts.master_key is 'The name of the master key that hashes the settings.';
comment on column hosts.settings is
  'A keyed hash of the value of each setting that all hosts must share.';
comment on column hosts.seen_at is 'When a worker of the host last wrote this row.';

create table master_keys (
  check_value bytea primary key check (octet_length(check_value) = 32),
  created_at timestamptz not null default now()
);

comment on table master_keys is
  'The master keys that encrypt something in this database. A program without one of them refuses to start.';
comment on column master_keys.check_value is
  'Derived from the key, which cannot be computed from it.';
comment on column master_keys.created_at is 'When the key first encrypted something.';

create function require(holds boolean) returns boolean
  language plpgsql immutable parallel safe
as $$
begin
  if holds is not true then
    raise exception using errcode = 'XD003', message = 'a requirement does not hold';
  end if;
  return true;
end
$$;

comment on function require(boolean) is
  'Raises an error unless the condition holds, so that the transaction is undone.';

-- migrate: down

drop function require(boolean);
drop table master_keys;
drop table hosts;
