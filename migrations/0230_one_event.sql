-- One function records every event. One function says whether a session passed a second factor. A
-- device remembers by which credentials its users have signed in.

-- migrate: up

-- Records an event and returns its id.
create function record_event(
  of_user text, of_app text, of_action text, by_actor text, of_session text, of_device text,
  from_address inet, from_agent text, facts jsonb default '{}', as_event text default null
) returns text
language plpgsql
as $$
declare
  event text := coalesce(as_event, new_object_id());
begin
  insert into audit (
    user_id, event_id, app_id, action, actor, session_id, device_id, address, agent, detail)
  values (
    of_user, event, of_app, of_action, by_actor, of_session, of_device, from_address, from_agent,
    facts);
  return event;
end
$$;

create or replace function record_change(of_user text, of_app text, change jsonb) returns boolean
language sql strict
begin atomic
  select record_event(
    of_user, of_app, 'data_change', change ->> 'actor', change ->> 'session', null,
    (change ->> 'address')::inet, change ->> 'agent', jsonb_build_object('what', change -> 'what'))
    is not null;
end;

create or replace function end_sessions(
  of_user text, reason text, by_actor text, from_address inet, from_agent text,
  one text default null, spared text default null, by_key text default null
) returns setof text
language sql
begin atomic
  with ended as (
    update sessions s set ended_at = now(), end_reason = reason
    where s.user_id = of_user and s.ended_at is null
      and (one is null or s.session_id = one) and (spared is null or s.session_id <> spared)
      and (by_key is null or s.provider = 'api-key' and coalesce(s.key_id::text, by_key) = by_key)
    returning s.user_id, s.session_id, s.device_id, s.app_id
  ), places as (
    delete from device_users p
    where p.user_id = of_user and one is null and by_key is null and reason <> 'blocked'
      and not exists (
        select from sessions s
        where s.user_id = of_user and s.session_id = spared and s.device_id = p.device_id)
      -- Sessions are locked before places, as when a device forgets a user.
      and (select count(*) from ended) >= 0
    returning p.user_id, p.device_id
  ), removed as (
    select record_event(
      p.user_id, u.app_id, 'device_remove', by_actor, null, p.device_id, from_address, from_agent)
    from places p join users u on u.user_id = of_user
  ), facts as (
    select e.session_id, record_event(
      e.user_id, e.app_id, 'session_end', by_actor, e.session_id, e.device_id, from_address,
      from_agent, jsonb_build_object('reason', reason))
    from ended e
  )
  select f.session_id from facts f where (select count(*) from removed) >= 0;
end;

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
  ), facts as (
    select record_event(
      of_user, of_app, 'unlink', by_actor, null, null, from_address, from_agent,
      jsonb_build_object('provider', g.provider))
    from gone g where g.provider <> 'anonymous'
    union all
    select record_event(
      of_user, of_app, 'device_remove', by_actor, null, p.device_id, from_address, from_agent)
    from places p
  )
  select count(*) >= 0 from facts;
end;

-- Returns whether authentication methods include a second factor.
create function has_second_factor(amr text) returns boolean
language sql immutable parallel safe
return ' ' || amr || ' ' like '% mfa %';

-- Returns whether a session can go on in an app that may require second factors. Sessions of guests
-- and of API keys need none.
create function meets_mfa(is_required boolean, amr text, provider text, is_guest boolean)
returns boolean
language sql immutable parallel safe
return not is_required or has_second_factor(amr) or provider = 'api-key' or is_guest;

-- How well a user has authenticated on the device so far: 0 by an API key only, 1 by another
-- credential, 2 by a second factor. Failed sign-ins of strangers do not limit a familiar device.
alter table device_users add column assurance smallint not null default 1
  constraint device_users_assurance_check check (assurance between 0 and 2);

-- migrate: down

alter table device_users drop column assurance;

drop function meets_mfa(boolean, text, text, boolean);
drop function has_second_factor(text);

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

create or replace function end_sessions(
  of_user text, reason text, by_actor text, from_address inet, from_agent text,
  one text default null, spared text default null, by_key text default null
) returns setof text
language sql
begin atomic
  with ended as (
    update sessions s set ended_at = now(), end_reason = reason
    where s.user_id = of_user and s.ended_at is null
      and (one is null or s.session_id = one) and (spared is null or s.session_id <> spared)
      and (by_key is null or s.provider = 'api-key' and coalesce(s.key_id::text, by_key) = by_key)
    returning s.user_id, s.session_id, s.device_id, s.app_id
  ), places as (
    delete from device_users p
    where p.user_id = of_user and one is null and by_key is null and reason <> 'blocked'
      and not exists (
        select from sessions s
        where s.user_id = of_user and s.session_id = spared and s.device_id = p.device_id)
    returning p.user_id, p.device_id
  ), removed as (
    insert into audit (user_id, event_id, app_id, action, actor, device_id, address, agent)
    select p.user_id, new_object_id(), u.app_id, 'device_remove', by_actor, p.device_id,
      from_address, from_agent
    from places p join users u on u.user_id = of_user
  )
  insert into audit (
    user_id, event_id, app_id, action, actor, session_id, device_id, address, agent, detail)
  select e.user_id, new_object_id(), e.app_id, 'session_end', by_actor, e.session_id, e.device_id,
    from_address, from_agent, jsonb_build_object('reason', reason)
  from ended e
  returning session_id;
end;

create or replace function record_change(of_user text, of_app text, change jsonb) returns boolean
language sql strict
begin atomic
  insert into audit (
    user_id, event_id, app_id, action, actor, session_id, address, agent, detail)
  values (of_user, new_object_id(), of_app, 'data_change', change ->> 'actor',
    change ->> 'session', (change ->> 'address')::inet, change ->> 'agent',
    jsonb_build_object('what', change -> 'what'))
  returning true;
end;

drop function record_event(text, text, text, text, text, text, inet, text, jsonb, text);
