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

-- Revokes API keys, linked identities, second factors and places on devices: all credentials but the
-- address.
create or replace function revoke_credentials(
  of_user text, of_app text, by_actor text, from_address inet, from_agent text,
  spared_device text default null
) returns boolean
language sql
begin atomic
  with gone as (
    delete from identities i where i.user_id = of_user and i.provider not in ('password', 'email')
    returning i.provider
  ), subjects as (
    delete from identity_subjects s where s.user_id = of_user and s.provider <> 'email'
  ), keys as (
    delete from api_keys k where k.user_id = of_user
  ), places as (
    delete from device_users p
    where p.user_id = of_user and (spared_device is null or p.device_id <> spared_device)
    returning p.device_id
  ), factors as (
    delete from second_factors f where f.user_id = of_user
  ), codes as (
    delete from recovery_codes c where c.user_id = of_user
  ), changed as (
    update users u set version = u.version + 1, updated_at = now() where u.user_id = of_user
  )
  insert into audit (user_id, event_id, app_id, action, actor, device_id, address, agent, detail)
  select of_user, new_object_id(), of_app, 'unlink', by_actor, null, from_address, from_agent,
    jsonb_build_object('provider', g.provider)
  from gone g where g.provider <> 'anonymous'
  union all
  select of_user, new_object_id(), of_app, 'device_remove', by_actor, p.device_id, from_address,
    from_agent, '{}'::jsonb
  from places p;
  select true;
end;

-- migrate: down

create or replace function revoke_credentials(
  of_user text, of_app text, by_actor text, from_address inet, from_agent text,
  spared_device text default null
) returns boolean
language sql
begin atomic
  with gone as (
    delete from identities i where i.user_id = of_user and i.provider not in ('password', 'email')
    returning i.provider
  ), subjects as (
    delete from identity_subjects s where s.user_id = of_user and s.provider <> 'email'
  ), keys as (
    delete from api_keys k where k.user_id = of_user
  ), places as (
    delete from device_users p
    where p.user_id = of_user and (spared_device is null or p.device_id <> spared_device)
    returning p.device_id
  ), changed as (
    update users u set version = u.version + 1, updated_at = now() where u.user_id = of_user
  )
  insert into audit (user_id, event_id, app_id, action, actor, device_id, address, agent, detail)
  select of_user, new_object_id(), of_app, 'unlink', by_actor, null, from_address, from_agent,
    jsonb_build_object('provider', g.provider)
  from gone g where g.provider <> 'anonymous'
  union all
  select of_user, new_object_id(), of_app, 'device_remove', by_actor, p.device_id, from_address,
    from_agent, '{}'::jsonb
  from places p;
  select true;
end;

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
