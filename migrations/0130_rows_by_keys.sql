-- Functions that find their rows by keys, and ids that cost less.

-- migrate: up

-- Returns an id for a row that a statement makes by itself. Its first 52 bits are the time in units
-- of 2^-20 seconds, so that ids sort by time; the others are random. The body is one expression, so
-- that the planner inlines it.
create or replace function new_object_id() returns text
  language sql volatile parallel safe
  return to_hex((date_part('epoch', clock_timestamp()) * 1048576)::bigint)
    || left(replace(gen_random_uuid()::text, '-', ''), 11);

-- Returns the users of a device, with the session of each that counts, and which user is active.
-- Without switching, no other user becomes active when the active one logs out. The planner inlines
-- it. The subquery reads each user by its key, for any statistics; a join could scan all users.
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

-- Ends sessions: one, or those of an API key, or all but an optional spared one. Ending all also
-- removes the user's places on devices, except that of the spared session. A device lists the names
-- and addresses of its users, and limits their logins less. A blocked user keeps the places, as an
-- administrator can undo a block.
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

create or replace function device_places(of_device text, switching boolean)
  returns table (
    user_id text, chosen_at timestamptz, session_id text, is_live boolean, is_active boolean)
  language sql stable parallel safe rows 4
begin atomic
  select p.user_id, p.chosen_at, s.session_id, s.session_id is not null,
    s.session_id is not null and row_number() over (
      order by switching and s.session_id is null, p.chosen_at desc, p.user_id) = 1
  from device_users p
  join users u on u.user_id = p.user_id
  left join lateral (
    select s.session_id from sessions s
    where s.device_id = p.device_id and s.user_id = p.user_id and s.ended_at is null
      and s.expires_at > now() and u.blocked_at is null
    order by s.created_at desc, s.session_id desc limit 1
  ) s on true
  where p.device_id = of_device;
end;

create or replace function new_object_id() returns text
  language sql volatile parallel safe
  return (
    select lpad(to_hex(time / 1000000), 8, '0') || lpad(to_hex(time % 1000000), 5, '0')
      || left(replace(gen_random_uuid()::text, '-', ''), 11)
    from (select (extract(epoch from clock_timestamp()) * 1000000)::bigint) as now (time));
