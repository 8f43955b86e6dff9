-- Second factors: time-based codes, and recovery codes.

-- migrate: up

create table second_factors (
  user_id object_id not null references users on delete cascade,
  factor_id object_id not null,
  -- Sealed with the master key.
  secret bytea not null,
  -- Null until a code of it was entered.
  confirmed_at timestamptz,
  -- The time step of the last code that was accepted: each code is good once.
  last_step bigint not null default 0,
  last_used_at timestamptz,
  created_at timestamptz not null default now(),
  primary key (user_id, factor_id)
);

create table recovery_codes (
  user_id object_id not null references users on delete cascade,
  code_hash bytea not null,
  created_at timestamptz not null default now(),
  primary key (user_id, code_hash)
);

create or replace function is_unused(u users, days integer) returns boolean
  language sql stable parallel safe
  return days > 0 and u.anonymous and u.blocked_at is null
    and greatest(u.created_at, u.last_login_at) < now() - days * interval '1 day'
    and num_nonnulls(
      u.email, u.name, u.given_name, u.family_name, u.nickname, u.phone, u.locale, u.zone,
      u.picture) = 0
    and exists (
      select from identities t where t.user_id = u.user_id and t.provider = 'anonymous')
    and not exists (
      select from identities t where t.user_id = u.user_id and t.provider <> 'anonymous')
    and not exists (
      select from sessions t where t.user_id = u.user_id
        and t.refreshed_at >= now() - days * interval '1 day')
    and not exists (
      select from documents t where t.user_id = u.user_id and t.deleted_at is null)
    and not exists (select from document_versions t where t.user_id = u.user_id)
    and not exists (select from properties t where t.user_id = u.user_id)
    and not exists (select from pictures t where t.user_id = u.user_id)
    and not exists (select from api_keys t where t.user_id = u.user_id)
    and not exists (select from authentication_flows t where t.user_id = u.user_id)
    and not exists (select from second_factors t where t.user_id = u.user_id)
    and not exists (select from recovery_codes t where t.user_id = u.user_id)
    and not exists (select from passwords t where t.user_id = u.user_id);

-- migrate: down

create or replace function is_unused(u users, days integer) returns boolean
  language sql stable parallel safe
  return days > 0 and u.anonymous and u.blocked_at is null
    and greatest(u.created_at, u.last_login_at) < now() - days * interval '1 day'
    and num_nonnulls(
      u.email, u.name, u.given_name, u.family_name, u.nickname, u.phone, u.locale, u.zone,
      u.picture) = 0
    and exists (
      select from identities t where t.user_id = u.user_id and t.provider = 'anonymous')
    and not exists (
      select from identities t where t.user_id = u.user_id and t.provider <> 'anonymous')
    and not exists (
      select from sessions t where t.user_id = u.user_id
        and t.refreshed_at >= now() - days * interval '1 day')
    and not exists (
      select from documents t where t.user_id = u.user_id and t.deleted_at is null)
    and not exists (select from document_versions t where t.user_id = u.user_id)
    and not exists (select from properties t where t.user_id = u.user_id)
    and not exists (select from pictures t where t.user_id = u.user_id)
    and not exists (select from api_keys t where t.user_id = u.user_id)
    and not exists (select from authentication_flows t where t.user_id = u.user_id)
    and not exists (select from passwords t where t.user_id = u.user_id);

drop table recovery_codes;
drop table second_factors;
