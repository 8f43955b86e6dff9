-- Whoever got into an account has its place on a device no longer when the owner has taken it back.

-- migrate: up

-- Ends sessions: one, or those of an API key, or all but one that may be spared. With all of them go
-- the places on devices, but for that of the one that is spared: a device lists the name and the
-- address of whom it knows, and its logins are not slowed down by what others guess. Who is blocked
-- keeps them, as that is undone.
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
    from places p join users u on u.user_id = p.user_id
  )
  insert into audit (
    user_id, event_id, app_id, action, actor, session_id, device_id, address, agent, detail)
  select e.user_id, new_object_id(), e.app_id, 'session_end', by_actor, e.session_id, e.device_id,
    from_address, from_agent, jsonb_build_object('reason', reason)
  from ended e
  returning session_id;
end;

-- migrate: down

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
  )
  insert into audit (
    user_id, event_id, app_id, action, actor, session_id, device_id, address, agent, detail)
  select e.user_id, new_object_id(), e.app_id, 'session_end', by_actor, e.session_id, e.device_id,
    from_address, from_agent, jsonb_build_object('reason', reason)
  from ended e
  returning session_id;
end;
