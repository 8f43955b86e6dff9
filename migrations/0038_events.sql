-- Events for back ends: audit events that are not published yet, and the feeds to which one publisher
-- gives them positions.

-- migrate: up

alter table audit
  add column ordinal bigint,
  add column pending boolean not null default false;

create index audit_pending on audit (ordinal) where pending;

comment on column audit.ordinal is
  'The order of publication: microseconds since 1970, taken after the lock on the row that the event is about. Null if no feed wanted the event.';
comment on column audit.pending is 'Whether the event waits for its publication.';

alter table sessions add column revocation_position bigint;

create index sessions_unpublished on sessions (app_id, ended_at)
  where ended_at is not null and revocation_position is null;

comment on column sessions.revocation_position is
  'The position of the end of the session in the feed of its app; null before.';

create table event_feeds (
  feed_id text collate "C" primary key,
  last_position bigint not null default 0,
  created_at timestamptz not null default now(),
  leased_until timestamptz not null default '-infinity',
  holder text collate "C"
);

comment on table event_feeds is
  'Feeds of events: one of each app under the id of the app, and one of what its verifiers must refuse under the id with the letter r. The row of zeros has the lease of the publisher.';
comment on column event_feeds.last_position is
  'The position of the newest event; whoever publishes locks this row.';
comment on column event_feeds.created_at is 'Sessions that ended ten minutes before are no events of the feed.';
comment on column event_feeds.leased_until is 'Until then only the holder publishes, to avoid useless work.';

create table feed_events (
  feed_id text collate "C" not null,
  position bigint not null,
  event_id text collate "C" not null check (event_id ~ '^[0-9a-f]{24}$'),
  user_id text collate "C",
  type text collate "C" not null,
  at timestamptz not null,
  data jsonb not null,
  primary key (feed_id, position),
  unique (feed_id, event_id)
);

-- Reads from a time begin here, and maintenance removes by time.
create index feed_events_by_time on feed_events (feed_id, at);

comment on table feed_events is 'Published events, at positions without gaps.';
comment on column feed_events.event_id is
  'The id of the audit event; that of the session for the end of a session.';
comment on column feed_events.data is
  'Ids, versions and reasons: no text of a user, no secret.';

do $$ begin
  if to_regclass('pg_dist_partition') is not null then
    if exists (select 1 from pg_dist_partition where logicalrelid = 'users'::regclass) then
      perform create_distributed_table('event_feeds', 'feed_id', colocate_with => 'users');
      perform create_distributed_table('feed_events', 'feed_id', colocate_with => 'users');
    end if;
  end if;
end $$;

create or replace function move_events(former text) returns void
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
    agent, detail, ordinal, pending)
  select a.app_id, a.event_id, a.app_id, a.at, a.action, a.actor, a.session_id, a.device_id,
    a.address, a.agent, a.detail || jsonb_build_object('former_user', a.user_id), a.ordinal, a.pending
  from audit a where a.user_id = former;
  delete from audit a where a.user_id = former;
end
$$;

create or replace function remove_event(owner text, event text) returns boolean
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
  delete from audit a where a.user_id = owner and a.event_id = event
    and (not a.pending or not exists (select 1 from apps p where p.app_id = app));
  return found;
end
$$;

create function settle_events(owner text, kept text[], discarded text[]) returns void
  language plpgsql security definer as $$
begin
  if not has_table_privilege(session_user, 'audit', 'insert') then
    raise exception 'only a role that adds events settles them' using errcode = 'insufficient_privilege';
  end if;
  update audit a set pending = false
  where a.user_id = owner and a.event_id = any (kept) and a.pending;
  delete from audit a
  where a.user_id = owner and a.event_id = any (discarded) and a.pending
    and a.action = 'data_change' and a.actor = 'user';
end
$$;

comment on function settle_events(text, text[], text[]) is
  'Marks events of a user as published. The second list has changes that users made to their own data, which the audit log does not keep: these are removed.';

do $$ begin
  execute format('alter function move_events(text) set search_path to %I, pg_temp',
    current_schema());
  execute format('alter function remove_event(text, text) set search_path to %I, pg_temp',
    current_schema());
  execute format('alter function settle_events(text, text[], text[]) set search_path to %I, pg_temp',
    current_schema());
end $$;

-- migrate: down

create or replace function move_events(former text) returns void
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

create or replace function remove_event(owner text, event text) returns boolean
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

do $$ begin
  execute format('alter function move_events(text) set search_path to %I, pg_temp',
    current_schema());
  execute format('alter function remove_event(text, text) set search_path to %I, pg_temp',
    current_schema());
end $$;

drop function settle_events(text, text[], text[]);
drop table feed_events;
drop table event_feeds;
drop index sessions_unpublished;
alter table sessions drop column revocation_position;
drop index audit_pending;
alter table audit drop column pending, drop column ordinal;
