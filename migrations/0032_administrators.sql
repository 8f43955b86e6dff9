-- Administrators of the console, and the app of their users.

-- migrate: up

do $$ begin
  if exists (select 1 from apps where name = 'operators') then
    raise exception 'an app has the name operators, which administrators of the console need'
      using hint = 'Rename it, tell its clients the new name, and run dossier-migrate up again: '
        || 'update apps set name = ''NEW-NAME'' where name = ''operators''';
  end if;
end $$;

insert into apps (app_id, name, settings)
values ('000000000000000000000001', 'operators', '{"mfa": "required", "sign_up": "closed"}');

create table administrators (
  user_id text collate "C" primary key,
  app_id text collate "C" not null references apps on delete cascade,
  email text not null,
  role text collate "C" not null check (role in ('viewer', 'support', 'admin', 'owner')),
  attributes jsonb not null default '{}' check (jsonb_typeof(attributes) = 'object'),
  disabled boolean not null generated always as (
    coalesce((attributes ->> 'disabled')::boolean, false)) stored,
  link_hash bytea,
  link_expires_at timestamptz,
  link_tries integer not null default 0,
  version bigint not null default 1,
  created_at timestamptz not null default now()
);

comment on table administrators is
  'Administrators of the console. Each is a user of the app operators, with the same id.';
comment on column administrators.email is 'The address of the user.';
comment on column administrators.attributes is
  'What differs from the defaults, by the names that the API has: the apps in which the role holds, and networks.';
comment on column administrators.disabled is 'Whether the administrator is refused.';
comment on column administrators.link_hash is
  'The hash of the link by which the administrator may set password and authenticator once; null without one.';
comment on column administrators.link_tries is 'How many codes the link still takes.';
comment on column administrators.version is 'Grows by one with each change.';

-- migrate: down

drop table administrators;
delete from identity_subjects where app_id = '000000000000000000000001';
delete from users where app_id = '000000000000000000000001';
delete from apps where app_id = '000000000000000000000001';
