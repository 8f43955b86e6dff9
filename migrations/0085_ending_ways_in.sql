-- How sessions and ways in end, with the facts of it, for all that ends them: a confirmed address,
-- a reset password, an import.

-- migrate: up

-- Ends the live sessions of a user: one, all but one, or those that an API key has opened; null for
-- all. The ids of those that ended.
create function end_sessions(
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
  )
  insert into audit (
    user_id, event_id, app_id, action, actor, session_id, device_id, address, agent, detail)
  select e.user_id, new_object_id(), e.app_id, 'session_end', by_actor, e.session_id, e.device_id,
    from_address, from_agent, jsonb_build_object('reason', reason)
  from ended e
  returning session_id;
end;

-- Ends what could log in as a user besides its password: API keys, linked identities, places on
-- devices.
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

-- migrate: down

drop function end_other_ways_in;
drop function end_sessions;
