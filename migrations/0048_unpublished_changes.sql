-- Changes that users make to their own data, and that the audit log does not keep: they wait for their
-- publication in a table with one index, not in the audit log with its six.

-- migrate: up

create table unpublished_changes (
  user_id text collate "C" not null,
  event_id text collate "C" not null,
  app_id text collate "C" not null,
  ordinal bigint not null,
  session_id text collate "C",
  what text collate "C" not null,
  version bigint,
  primary key (ordinal, user_id, event_id)
);

comment on table unpublished_changes is
  'Changes that users made to their own data, until the feed of the app has them.';
comment on column unpublished_changes.ordinal is 'As in the table audit.';
comment on column unpublished_changes.what is 'The part of the data: metadata, properties, profile …';
comment on column unpublished_changes.version is 'The version of a document after the change.';

do $$ begin
  if to_regclass('pg_dist_partition') is not null then
    if exists (select 1 from pg_dist_partition where logicalrelid = 'users'::regclass) then
      perform create_distributed_table('unpublished_changes', 'user_id', colocate_with => 'users');
    end if;
  end if;
end $$;

drop function settle_events(text, text[], text[]);

create function settle_events(owner text, events text[]) returns void
  language plpgsql security definer as $$
begin
  if not has_table_privilege(session_user, 'audit', 'insert') then
    raise exception 'only a role that adds events settles them' using errcode = 'insufficient_privilege';
  end if;
  update audit a set pending = false
  where a.user_id = owner and a.event_id = any (events) and a.pending;
end
$$;

comment on function settle_events(text, text[]) is 'Marks events of a user as published.';

do $$ begin
  execute format('alter function settle_events(text, text[]) set search_path to %I, pg_temp',
    current_schema());
end $$;

-- migrate: down

drop function settle_events(text, text[]);

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
  execute format('alter function settle_events(text, text[], text[]) set search_path to %I, pg_temp',
    current_schema());
end $$;

drop table unpublished_changes;
