-- Removes addresses, or whole events, of deleted users from the audit log.

-- migrate: up

create function forget_events(former text) returns void
  language plpgsql security definer as $$
declare
  app text;
begin
  if not has_table_privilege(session_user, 'audit', 'insert') then
    raise exception 'only a role that adds events forgets them' using errcode = 'insufficient_privilege';
  end if;
  if exists (select 1 from users u where u.user_id = former)
    or exists (select 1 from apps p where p.app_id = former) or former = repeat('0', 24) then
    raise exception 'the owner of these events exists' using errcode = 'insufficient_privilege';
  end if;
  select a.app_id into app from audit a where a.user_id = former limit 1;
  if exists (
    select 1 from apps p where p.app_id = app and p.settings ->> 'deleted_user_events' = 'none') then
    delete from audit a
    where a.user_id = former and a.action <> 'user_delete' and not a.pending;
  end if;
  update audit a set address = null, agent = null
  where a.user_id = former and (a.address is not null or a.agent is not null)
    and (a.action <> 'user_delete' or a.actor = 'user');
end
$$;

comment on function forget_events(text) is
  'Removes the addresses and agents of the events of a deleted user. If the app keeps no events of deleted users, it removes the events, except for the deletion.';

do $$ begin
  execute format('alter function forget_events(text) set search_path to %I, pg_temp',
    current_schema());
end $$;

-- migrate: down

drop function forget_events(text);
