-- Roles: named sets of permissions, and the users who have them.
--
-- A permission is a scope of an API. Roles are operators' data; what users have leads with user_id.

-- migrate: up

create table roles (
  app_id text collate "C" not null references apps on delete cascade,
  role_id text collate "C" not null check (role_id ~ '^[0-9a-f]{24}$'),
  name text collate "C" not null,
  description text not null default '',
  version bigint not null default 1,
  created_at timestamptz not null default now(),
  primary key (app_id, role_id),
  unique (role_id),
  constraint roles_name unique (app_id, name)
);

comment on table roles is 'Roles of an app, which give their users permissions.';
comment on column roles.name is 'The name, compared by bytes.';
comment on column roles.version is 'Grows by one with each change of the name or the description.';

create table role_permissions (
  app_id text collate "C" not null,
  role_id text collate "C" not null,
  resource_server_id text collate "C" not null,
  scope text collate "C" not null,
  created_at timestamptz not null default now(),
  primary key (role_id, resource_server_id, scope),
  foreign key (app_id, role_id) references roles on delete cascade,
  foreign key (app_id, resource_server_id) references resource_servers on delete cascade
);

create index role_permissions_by_resource_server
  on role_permissions (app_id, resource_server_id, scope);

comment on table role_permissions is 'Scopes of APIs that the users of a role may get.';

create table user_roles (
  user_id text collate "C" not null references users on delete cascade,
  role_id text collate "C" not null references roles (role_id) on delete cascade,
  created_at timestamptz not null default now(),
  primary key (user_id, role_id)
);

-- Pages of the users of a role, and the deletion of a role.
create index user_roles_by_role on user_roles (role_id, user_id);

comment on table user_roles is 'Roles of users.';

create table user_permissions (
  user_id text collate "C" not null references users on delete cascade,
  resource_server_id text collate "C" not null
    references resource_servers (resource_server_id) on delete cascade,
  scope text collate "C" not null,
  created_at timestamptz not null default now(),
  primary key (user_id, resource_server_id, scope)
);

-- The deletion of an API or a scope.
create index user_permissions_by_scope on user_permissions (resource_server_id, scope, user_id);

comment on table user_permissions is
  'Scopes of APIs that users may get without a role.';

-- migrate: down

drop table user_permissions;
drop table user_roles;
drop table role_permissions;
drop table roles;
