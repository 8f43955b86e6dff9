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

create view unused_users as
  select u.user_id, u.app_id
  from users u join apps a on a.app_id = u.app_id
  where a.anonymous_user_retention_days > 0 and u.anonymous and u.blocked_at is null
    and greatest(u.created_at, u.last_login_at) < now() - a.anonymous_user_retention_days * interval '1 day'
    and num_nonnulls(
      u.email, u.name, u.given_name, u.family_name, u.nickname, u.phone, u.locale, u.zone,
      u.picture) = 0
    and exists (
      select from identities t where t.user_id = u.user_id and t.provider = 'anonymous')
    and not exists (
      select from identities t where t.user_id = u.user_id and t.provider <> 'anonymous')
    and not exists (
      select from sessions t where t.user_id = u.user_id
        and t.refreshed_at >= now() - a.anonymous_user_retention_days * interval '1 day')
    and not exists (
      select from documents t where t.user_id = u.user_id and t.deleted_at is null)
    and not exists (select from document_versions t where t.user_id = u.user_id)
    and not exists (select from properties t where t.user_id = u.user_id)
    and not exists (select from additional_subjects t where t.user_id = u.user_id)
    and not exists (select from pictures t where t.user_id = u.user_id)
    and not exists (select from api_keys t where t.user_id = u.user_id)
    and not exists (select from authentication_flows t where t.place = u.user_id)
    and not exists (select from second_factors t where t.user_id = u.user_id)
    and not exists (select from recovery_codes t where t.user_id = u.user_id)
    and not exists (select from passwords t where t.user_id = u.user_id);

comment on view unused_users is
  'Guests without data who have no other identity, are not blocked, and were not seen for the app''s anonymous_user_retention_days; none for 0. Their version does not matter. A new table of user data belongs here too; a test checks this.';

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
drop view unused_users;
drop table master_keys;
drop table hosts;
