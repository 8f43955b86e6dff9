-- Codes by which users let support see their accounts, and the sessions that these open.

-- migrate: up

create table support_codes (
  user_id text collate "C" primary key references users on delete cascade,
  app_id text collate "C" not null,
  code_hash bytea not null,
  expires_at timestamptz not null
);

create index support_codes_by_hash on support_codes (code_hash);

do $$ begin
  if to_regclass('pg_dist_partition') is not null then
    if exists (select 1 from pg_dist_partition where logicalrelid = 'users'::regclass) then
      perform create_distributed_table('support_codes', 'user_id', colocate_with => 'users');
    end if;
  end if;
end $$;

comment on table support_codes is
  'Codes that users tell support, which then sees their accounts. A user has at most one.';
comment on column support_codes.code_hash is 'A keyed hash of the code.';

alter table sessions add column administrator_id text collate "C";

comment on column sessions.administrator_id is
  'The administrator who sees the account in a session of support; null for all other sessions, and for one of the operator.';

-- migrate: down

update sessions set ended_at = now(), end_reason = 'ended'
where style = 'support' and ended_at is null;
alter table sessions drop column administrator_id;
drop table support_codes;
