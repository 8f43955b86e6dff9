-- Merges of users, which can be undone for some days.

-- migrate: up

create table merges (
  user_id text collate "C" not null references users on delete cascade,
  merge_id text collate "C" not null check (merge_id ~ '^[0-9a-f]{24}$'),
  app_id text collate "C" not null,
  other_id text collate "C" not null,
  sealed bytea not null,
  created_at timestamptz not null default now(),
  expires_at timestamptz not null,
  primary key (user_id, merge_id)
);

create index merges_by_id on merges (merge_id);
create index merges_by_time on merges (expires_at);

do $$ begin
  if to_regclass('pg_dist_partition') is not null then
    if exists (select 1 from pg_dist_partition where logicalrelid = 'users'::regclass) then
      perform create_distributed_table('merges', 'user_id', colocate_with => 'users');
    end if;
  end if;
end $$;

comment on table merges is
  'Users that were merged into another one. A row is deleted when the merge is undone, and after seven days.';
comment on column merges.user_id is 'The user that stayed.';
comment on column merges.other_id is 'The user that was merged into it.';
comment on column merges.sealed is
  'The export of the other user and what was moved, encrypted with the master key.';

-- migrate: down

drop table merges;
