-- Audit events that the server's role cannot change or remove.
--
-- `dossier-migrate up --grant-to` lets that role read and add events only. The functions have the rights
-- of the owner, and are the role's only ways to remove events.

-- migrate: up

create function move_events(former text) returns void
  language plpgsql security definer as $$
begin
  if not has_table_privilege(session_user, 'audit', 'insert') then
    raise exception 'only a role that adds events moves them' using errcode = 'insufficient_privilege';
  end if;
  if exists (select 1 from users u where u.user_id = former)
    or exists (select 1 from apps p where p.app_id = former) or former = repeat('0', 24) then
    raise exception 'the owner of these events exists' using errcode = 'insufficient_privilege';
  end if;
  insert into audit (user_id, event_id, app_id, at, action, actor, session_id, device_id, address,
    agent, detail)
  select a.app_id, a.event_id, a.app_id, a.at, a.action, a.actor, a.session_id, a.device_id,
    a.address, a.agent, a.detail || jsonb_build_object('former_user', a.user_id)
  from audit a where a.user_id = former;
  delete from audit a where a.user_id = former;
end
$$;

comment on function move_events(text) is
  'Moves the events of a deleted user to the app, where a new user with the id does not see them.';

create function remove_event(owner text, event text) returns boolean
  language plpgsql security definer as $$
declare
  app text;
  yesterday text collate "C" :=
    lpad(to_hex(extract(epoch from now() - interval '1 day')::bigint), 8, '0');
begin
  if not has_table_privilege(session_user, 'audit', 'insert') then
    raise exception 'only a role that adds events removes them' using errcode = 'insufficient_privilege';
  end if;
  select a.app_id into app from audit a where a.user_id = owner and a.event_id = event;
  if event >= yesterday
    and (app = repeat('0', 24) or exists (select 1 from apps p where p.app_id = app)) then
    return false;
  end if;
  delete from audit a where a.user_id = owner and a.event_id = event;
  return found;
end
$$;

comment on function remove_event(text, text) is
  'Removes an event that is older than a day or whose app is deleted, and returns whether it did. So an intruder cannot remove the traces of the last day.';

-- The schema of temporary tables is last: no caller can put a table of its own before these.
do $$ begin
  execute format('alter function move_events(text) set search_path to %I, pg_temp',
    current_schema());
  execute format('alter function remove_event(text, text) set search_path to %I, pg_temp',
    current_schema());
end $$;

-- migrate: down

drop function move_events(text);
drop function remove_event(text, text);
