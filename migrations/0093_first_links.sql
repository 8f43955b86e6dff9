-- What ends when an anonymous user is linked for the first time, and what outlives a lost claim.

-- migrate: up

-- Ends what could log in as a user besides its password: API keys, linked identities, places on
-- devices but for one that may be spared. That a user was anonymous is no way in: no fact tells of it.
drop function end_other_ways_in;

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

-- As before, but for what gives an address back: whoever got into an account could claim another
-- address there and prove it elsewhere, and so take the way back from the owner.
create or replace function supersede_claims(
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

-- migrate: down

create or replace function supersede_claims(
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
    delete from mail_tokens m using rivals r where m.user_id = r.user_id
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

drop function end_other_ways_in;

create function end_other_ways_in(
  of_user text, of_app text, by_actor text, from_address inet, from_agent text
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
    delete from device_users p where p.user_id = of_user returning p.device_id
  ), changed as (
    update users u set version = u.version + 1, updated_at = now() where u.user_id = of_user
  )
  insert into audit (user_id, event_id, app_id, action, actor, device_id, address, agent, detail)
  select of_user, new_object_id(), of_app, 'unlink', by_actor, null, from_address, from_agent,
    jsonb_build_object('provider', g.provider)
  from gone g
  union all
  select of_user, new_object_id(), of_app, 'device_remove', by_actor, p.device_id, from_address,
    from_agent, '{}'::jsonb
  from places p;
  select true;
end;
