-- One address belongs to one user, and a sign-in of several steps is a flow.

-- migrate: up

-- A sign-in, a registration or a change of an address that waits for a code.
create table authentication_flows (
  app_id object_id not null references apps on delete cascade,
  flow_id object_id not null,
  purpose text collate "C" not null check (
    purpose in ('sign_in', 'register', 'change_email', 'second_factor', 'enroll')),
  user_id object_id references users on delete cascade,
  email_key text collate "C",
  email text,
  -- Of a registration: the user is made when the code is entered.
  password_hash text collate "C",
  -- Null while no code was sent, and where the user's own factor makes the codes.
  code_hash bytea,
  -- Of a second step: the credential that was verified in the first.
  provider text collate "C",
  evidence text collate "C",
  authenticated_at timestamptz,
  tries integer not null,
  created_at timestamptz not null default now(),
  expires_at timestamptz not null,
  primary key (app_id, flow_id)
);
create index authentication_flows_by_address on authentication_flows (app_id, email_key)
  where email_key is not null;
create index authentication_flows_by_user on authentication_flows (user_id)
  where user_id is not null;
create index authentication_flows_by_time on authentication_flows (expires_at);

-- How the user of a session authenticated, by RFC 8176, with spaces between.
alter table sessions add column amr text collate "C" not null default '';

-- Since when no user is active on a device; null while one may be.
alter table devices add column inactive_since timestamptz;

-- Until when an address that a user had before cannot be another's; null for the present one.
alter table identity_subjects add column reserved_until timestamptz;
create index identity_subjects_reserved on identity_subjects (reserved_until)
  where reserved_until is not null;

-- The oldest user of an address keeps it. The others lose it.
insert into identity_subjects (app_id, provider, subject, user_id, identity_id)
select distinct on (e.app_id, e.email_key) e.app_id, 'email', e.email_key, e.user_id, i.identity_id
from unconfirmed_emails e
join identities i on i.user_id = e.user_id and i.provider = 'password'
order by e.app_id, e.email_key, e.created_at, e.user_id
on conflict do nothing;
insert into identity_subjects (app_id, provider, subject, user_id, identity_id)
select distinct on (u.app_id, email_key(u.email)) u.app_id, 'email', email_key(u.email), u.user_id,
  i.identity_id
from users u
join identities i on i.user_id = u.user_id and i.provider <> 'anonymous'
where u.email is not null
order by u.app_id, email_key(u.email), u.created_at, u.user_id, i.created_at
on conflict do nothing;
update users u set email = null, email_verified = false
where u.email is not null and not exists (
  select from identity_subjects s
  where s.app_id = u.app_id and s.provider = 'email' and s.user_id = u.user_id);

drop function supersede_claims(text, text, text, text);

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

create or replace function device_places(of_device text, switching boolean)
  returns table (
    user_id text, chosen_at timestamptz, session_id text, is_live boolean, is_active boolean)
  language sql stable parallel safe rows 4
begin atomic
  select p.user_id, p.chosen_at, s.session_id, s.session_id is not null,
    s.session_id is not null and row_number() over (
      order by switching and s.session_id is null, p.chosen_at desc, p.user_id) = 1
      and p.chosen_at > coalesce(
        (select d.inactive_since from devices d where d.device_id = of_device), '-infinity')
  from device_users p
  left join lateral (
    select s.session_id from sessions s
    where s.device_id = p.device_id and s.user_id = p.user_id and s.ended_at is null
      and s.expires_at > now()
      and (select u.blocked_at is null from users u where u.user_id = p.user_id)
    order by s.created_at desc, s.session_id desc limit 1
  ) s on true
  where p.device_id = of_device;
end;

drop function end_unproved(text, text, text, inet, text, text, text);
drop function end_other_ways_in(text, text, text, inet, text, text);

-- Revokes API keys, linked identities and places on devices: all credentials but the address.
create function revoke_credentials(
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

-- Revokes what a guest had before the first link: the guest may be another than who links.
create function revoke_guest_credentials(
  of_user text, of_app text, by_actor text, from_address inet, from_agent text,
  spared_session text default null, spared_device text default null
) returns void
language sql
begin atomic
  select revoke_credentials(of_user, of_app, by_actor, from_address, from_agent, spared_device),
    (select count(*) from end_sessions(
      of_user, 'link', by_actor, from_address, from_agent, null, spared_session))
  where not exists (
    select from identities i
    where i.user_id = of_user and i.provider not in ('anonymous', 'api-key'));
end;

drop table unconfirmed_emails;
drop table email_codes;

delete from mail_tokens where purpose in ('confirm', 'email');
alter table mail_tokens drop constraint mail_tokens_purpose_check,
  add constraint mail_tokens_purpose_check check (purpose in ('verify', 'reset', 'restore'));
delete from mails;
-- A request is a mail whose reader is not looked up yet.
alter table mails drop constraint mails_kind_check,
  add constraint mails_kind_check check (
    kind in ('request', 'verify', 'reset', 'restore', 'change', 'taken', 'code'));

-- Raises an error unless the condition holds, so that the transaction is undone.
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

-- migrate: down

drop function require(boolean);

delete from mails;
alter table mails drop constraint mails_kind_check,
  add constraint mails_kind_check check (
    kind in ('confirm', 'reset', 'change', 'taken', 'email', 'restore', 'code'));
delete from mail_tokens where purpose = 'verify';
alter table mail_tokens drop constraint mail_tokens_purpose_check,
  add constraint mail_tokens_purpose_check check (
    purpose in ('confirm', 'reset', 'email', 'restore'));

create table unconfirmed_emails (
  app_id object_id not null,
  email_key text collate "C" not null,
  user_id object_id not null references users on delete cascade,
  created_at timestamptz not null default now(),
  disposable_from timestamptz,
  primary key (app_id, email_key, user_id)
);
create index unconfirmed_emails_by_user on unconfirmed_emails (user_id);

create table email_codes (
  app_id object_id not null references apps on delete cascade,
  code_id object_id not null,
  email_key text collate "C" not null,
  email text not null,
  code_hash bytea not null,
  tries integer not null,
  expires_at timestamptz not null,
  primary key (app_id, code_id)
);
create index email_codes_by_address on email_codes (app_id, email_key);
create index email_codes_by_time on email_codes (expires_at);

update identities set provider = 'password' where provider = 'email';
insert into passwords (user_id, hash)
select i.user_id, '*' from identities i where i.provider = 'password' on conflict do nothing;
insert into unconfirmed_emails (app_id, email_key, user_id)
select s.app_id, s.subject, s.user_id
from identity_subjects s
join users u on u.user_id = s.user_id
join identities i on i.user_id = s.user_id and i.identity_id = s.identity_id
where s.provider = 'email' and not u.email_verified and s.reserved_until is null
  and i.provider = 'password';
delete from identity_subjects s using users u
where s.provider = 'email' and u.user_id = s.user_id
  and (not u.email_verified or s.reserved_until is not null);

drop function revoke_guest_credentials(text, text, text, inet, text, text, text);
drop function revoke_credentials(text, text, text, inet, text, text);

create function end_other_ways_in(
  of_user text, of_app text, by_actor text, from_address inet, from_agent text,
  spared_device text default null
) returns boolean
language sql
begin atomic
  with gone as (
    delete from identities i where i.user_id = of_user and i.provider <> 'password'
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

create function end_unproved(
  of_user text, of_app text, by_actor text, from_address inet, from_agent text,
  spared_session text default null, spared_device text default null
) returns void
language sql
begin atomic
  select end_other_ways_in(of_user, of_app, by_actor, from_address, from_agent, spared_device),
    (select count(*) from end_sessions(
      of_user, 'link', by_actor, from_address, from_agent, null, spared_session))
  where not exists (
    select from identities i
    where i.user_id = of_user and i.provider not in ('anonymous', 'api-key'));
end;

create or replace function device_places(of_device text, switching boolean)
  returns table (
    user_id text, chosen_at timestamptz, session_id text, is_live boolean, is_active boolean)
  language sql stable parallel safe rows 4
begin atomic
  select p.user_id, p.chosen_at, s.session_id, s.session_id is not null,
    s.session_id is not null and row_number() over (
      order by switching and s.session_id is null, p.chosen_at desc, p.user_id) = 1
  from device_users p
  left join lateral (
    select s.session_id from sessions s
    where s.device_id = p.device_id and s.user_id = p.user_id and s.ended_at is null
      and s.expires_at > now()
      and (select u.blocked_at is null from users u where u.user_id = p.user_id)
    order by s.created_at desc, s.session_id desc limit 1
  ) s on true
  where p.device_id = of_device;
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
    and not exists (select from unconfirmed_emails t where t.user_id = u.user_id)
    and not exists (select from passwords t where t.user_id = u.user_id);

create function supersede_claims(
  of_app text, address text, holder text, by_actor text
) returns bigint
language sql
begin atomic
  with rivals as (
    delete from unconfirmed_emails e
    where e.app_id = of_app and e.email_key = email_key(address) and e.user_id <> holder
    returning e.user_id
  ), lost as (
    delete from identities i using rivals r where i.user_id = r.user_id and i.provider = 'password'
  ), cleared as (
    delete from passwords p using rivals r where p.user_id = r.user_id
  ), mails as (
    delete from mail_tokens m using rivals r where m.user_id = r.user_id and m.purpose <> 'restore'
  ), stranded as materialized (
    select r.user_id, new_object_id() as identity_id from rivals r
    where not exists (
      select from identities i where i.user_id = r.user_id and i.provider <> 'password')
  ), identity as (
    insert into identities (user_id, identity_id, app_id, provider, subject)
    select user_id, identity_id, of_app, 'anonymous', user_id from stranded
  ), subject as (
    insert into identity_subjects (app_id, provider, subject, user_id, identity_id)
    select of_app, 'anonymous', user_id, user_id, identity_id from stranded
  ), changed as (
    update users u set email = null, email_verified = false, version = u.version + 1,
      updated_at = now(),
      anonymous = u.anonymous or exists (select from stranded s where s.user_id = u.user_id)
    from rivals r where u.user_id = r.user_id
  ), facts as (
    insert into audit (user_id, event_id, app_id, action, actor, detail)
    select user_id, new_object_id(), of_app, 'unlink', by_actor, '{"provider": "password"}'
    from rivals
  )
  select count(*) from rivals;
end;

alter table identity_subjects drop column reserved_until;
alter table devices drop column inactive_since;
alter table sessions drop column amr;
drop table authentication_flows;
