-- Tenancy: apps, their host names, clients, APIs and issuers, and the keys that sign their tokens.
--
-- Ids are 24 hexadecimal characters, compared by bytes. The table that an id identifies checks it;
-- other columns have copies of checked ids.

-- migrate: up

create function new_object_id() returns text
  language sql volatile parallel safe
  return to_hex((date_part('epoch', clock_timestamp()) * 1048576)::bigint)
    || left(replace(gen_random_uuid()::text, '-', ''), 11);

comment on function new_object_id() is
  'Returns a new id. Its first 52 bits are the time in units of 2^-20 seconds, so ids sort by time; the others are random. The body is one expression, so the planner inlines it.';

create table apps (
  app_id text collate "C" primary key check (app_id ~ '^[0-9a-f]{24}$'),
  name text collate "C" not null unique check (name ~ '^[a-z0-9][a-z0-9-]{0,62}$'),
  settings jsonb not null default '{}' check (jsonb_typeof(settings) = 'object'),
  version bigint not null default 1,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  document_versions_kept integer not null
    generated always as (coalesce((settings ->> 'document_versions_kept')::integer, 0)) stored,
  anonymous_user_retention_days integer not null
    generated always as (coalesce((settings ->> 'anonymous_user_retention_days')::integer, 30)) stored
);

comment on table apps is
  'Products. Each has its own users, settings, clients, APIs, issuers and keys.';
comment on column apps.name is 'The name by which requests and the command line select the app.';
comment on column apps.settings is
  'Settings that differ from the defaults, by the names that `dossier app set` takes.';
comment on column apps.version is 'Grows by one with each change of the name or the settings.';
comment on column apps.document_versions_kept is
  'The setting document_versions_kept as a number, since each write of a document reads it.';
comment on column apps.anonymous_user_retention_days is
  'The setting anonymous_user_retention_days as a number, for maintenance.';

insert into apps (app_id, name) values (new_object_id(), 'default');

create table app_hosts (
  host text collate "C" primary key check (host = lower(host)),
  app_id text collate "C" not null references apps on delete cascade
);

create index app_hosts_by_app on app_hosts (app_id);

comment on table app_hosts is 'Host names by which requests select an app.';

create table issuers (
  app_id text collate "C" not null references apps on delete cascade,
  name text collate "C" not null check (name ~ '^[a-z0-9][a-z0-9-]{0,62}$'),
  issuer text not null,
  audience text not null,
  jwks_url text,
  jwks jsonb,
  secret bytea,
  claims jsonb not null default '{}' check (jsonb_typeof(claims) = 'object'),
  created_at timestamptz not null default now(),
  allows_missing_iss boolean not null default false,
  allows_missing_aud boolean not null default false,
  primary key (app_id, name),
  constraint issuers_keys check (num_nonnulls(jwks_url, jwks, secret) = 1)
);

-- A token without iss must belong to one issuer. Of two, either could log in the other's users.
create unique index issuers_missing_iss on issuers (app_id) where allows_missing_iss;

-- Likewise for issuers with the same iss and different audiences.
create unique index issuers_missing_aud on issuers (app_id, issuer) where allows_missing_aud;

comment on table issuers is 'Other issuers whose JSON Web Tokens sign users in to an app.';
comment on column issuers.name is 'The name by which the operator and the routes know the issuer.';
comment on column issuers.issuer is 'The iss claim of its tokens.';
comment on column issuers.audience is 'The aud claim that its tokens must have.';
comment on column issuers.jwks_url is
  'The URL of its key set. Exactly one of jwks_url, jwks and secret is set.';
comment on column issuers.jwks is 'Its key set.';
comment on column issuers.secret is 'A key shared with it, encrypted with the master key.';
comment on column issuers.claims is
  'Members of the profile, each with the claim that its value comes from.';
comment on column issuers.allows_missing_iss is 'Whether a token may lack the iss claim.';
comment on column issuers.allows_missing_aud is 'Whether a token may lack the aud claim.';

create table clients (
  client_id text collate "C" primary key check (client_id ~ '^[0-9a-f]{24}$'),
  app_id text collate "C" references apps on delete cascade,
  kind text collate "C" not null check (kind in ('native', 'single_page', 'web', 'machine')),
  name text not null,
  scope text collate "C" not null default '',
  secret_hash bytea,
  secret_created_at timestamptz,
  settings jsonb not null default '{}' check (jsonb_typeof(settings) = 'object'),
  version bigint not null default 1,
  disabled_at timestamptz,
  created_at timestamptz not null default now(),
  unique (app_id, client_id),
  constraint clients_secret check (
    num_nonnulls(secret_hash, secret_created_at)
      = case when kind in ('native', 'single_page') then 0 else 2 end),
  constraint clients_operator check (app_id is not null or kind = 'machine')
);

comment on table clients is
  'OAuth clients: programs that sign users in to an app, back ends of apps, and programs of the operator.';
comment on column clients.app_id is
  'Null for a client of the operator, which may call every app.';
comment on column clients.kind is
  'The kind of program. Native and single-page clients are public: they cannot keep a secret.';
comment on column clients.scope is 'Its scopes at the management API, with spaces between them.';
comment on column clients.secret_hash is
  'A keyed hash of its secret. Null for a public client, which has none.';
comment on column clients.secret_created_at is 'The time of its secret.';
comment on column clients.settings is
  'Settings that differ from the defaults, by the names that `dossier client set` takes.';
comment on column clients.version is 'Grows by one with each change of the client.';

create table resource_servers (
  app_id text collate "C" not null references apps on delete cascade,
  resource_server_id text collate "C" not null check (resource_server_id ~ '^[0-9a-f]{24}$'),
  identifier text collate "C" not null
    check (identifier ~ '^[!-~]+$' and length(identifier) <= 600),
  name text not null,
  scopes json not null default '{}' check (json_typeof(scopes) = 'object'),
  token_seconds integer not null default 86400 check (token_seconds between 60 and 2592000),
  allows_offline_access boolean not null default false,
  skips_consent boolean not null default true,
  enforces_policies boolean not null default false,
  token_dialect text collate "C" not null default 'access_token'
    check (token_dialect in ('access_token', 'access_token_authz')),
  claims json not null default '{}' check (json_typeof(claims) = 'object'),
  version bigint not null default 1,
  created_at timestamptz not null default now(),
  primary key (app_id, resource_server_id),
  unique (resource_server_id),
  constraint resource_servers_identifier unique (app_id, identifier)
);

comment on table resource_servers is 'APIs of an app that access tokens are for.';
comment on column resource_servers.identifier is
  'The audience of its tokens, compared by bytes. api/v2/ is the Management API; the issuer precedes it in tokens.';
comment on column resource_servers.scopes is
  'Its scopes, each with a description for users. jsonb would not keep their order.';
comment on column resource_servers.token_seconds is 'The lifetime of its access tokens.';
comment on column resource_servers.allows_offline_access is
  'Whether clients may get a refresh token for it.';
comment on column resource_servers.skips_consent is
  'Whether first-party clients get its scopes without the consent of the user.';
comment on column resource_servers.enforces_policies is
  'Whether a user gets only the scopes that its permissions contain.';
comment on column resource_servers.token_dialect is
  'access_token_authz adds the claim permissions to its access tokens.';
comment on column resource_servers.claims is
  'Claims of its access tokens, each with the source of its value.';
comment on column resource_servers.version is 'Grows by one with each change.';

create function management_scopes() returns json
  language sql immutable parallel safe
  return '{
    "read:users": "Read users",
    "create:users": "Create users",
    "update:users": "Change users",
    "delete:users": "Delete users",
    "read:users_app_metadata": "Read app metadata",
    "create:users_app_metadata": "Create app metadata",
    "update:users_app_metadata": "Change app metadata",
    "delete:users_app_metadata": "Delete app metadata",
    "read:logs": "Read logs",
    "read:logs_users": "Read the logs of users",
    "read:sessions": "Read sessions",
    "delete:sessions": "End sessions",
    "read:refresh_tokens": "Read refresh tokens",
    "delete:refresh_tokens": "Revoke refresh tokens",
    "read:roles": "Read roles",
    "create:roles": "Create roles",
    "update:roles": "Change roles",
    "delete:roles": "Delete roles",
    "read:role_members": "Read the users of roles",
    "create:role_members": "Assign roles to users",
    "delete:role_members": "Remove roles from users",
    "create:user_tickets": "Create links that verify addresses and reset passwords",
    "read:clients": "Read clients",
    "create:clients": "Create clients",
    "update:clients": "Change clients",
    "delete:clients": "Delete clients",
    "read:client_keys": "Read clients",
    "update:client_keys": "Replace the secrets of clients",
    "read:resource_servers": "Read APIs",
    "create:resource_servers": "Create APIs",
    "update:resource_servers": "Change APIs",
    "delete:resource_servers": "Delete APIs",
    "read:client_grants": "Read grants",
    "create:client_grants": "Create grants",
    "update:client_grants": "Change grants",
    "delete:client_grants": "Delete grants",
    "read:current_user": "Read your profile and metadata",
    "create:current_user_metadata": "Create your metadata",
    "update:current_user_metadata": "Change your metadata",
    "delete:current_user_metadata": "Delete your metadata",
    "update:current_user_identities": "Link and unlink your accounts"
  }'::json;

comment on function management_scopes() is
  'Returns the scopes of the Management API of Auth0 that Dossier has, with their descriptions.';

insert into resource_servers (app_id, resource_server_id, identifier, name, scopes, skips_consent)
select app_id, new_object_id(), 'api/v2/', 'Management API', management_scopes(), false from apps;

create table client_grants (
  app_id text collate "C" not null,
  client_id text collate "C" not null,
  resource_server_id text collate "C" not null,
  scope text collate "C" not null,
  created_at timestamptz not null default now(),
  primary key (app_id, client_id, resource_server_id),
  foreign key (app_id, client_id) references clients (app_id, client_id) on delete cascade,
  foreign key (app_id, resource_server_id) references resource_servers on delete cascade
);

create index client_grants_by_resource_server on client_grants (app_id, resource_server_id);

comment on table client_grants is
  'Scopes that a client gets at an API by its own secret, without a user (client_credentials).';
comment on column client_grants.scope is 'The scopes, with spaces between them.';

create table signing_keys (
  app_id text collate "C" not null references apps on delete cascade,
  key_id text collate "C" not null,
  purpose text collate "C" not null,
  algorithm text collate "C" not null,
  public_key bytea not null,
  private_key bytea not null,
  created_at timestamptz not null default now(),
  retires_at timestamptz,
  primary key (app_id, key_id)
);

-- Workers that start together agree on one key by this index.
create unique index signing_keys_current on signing_keys (app_id, purpose)
  where retires_at is null;

comment on table signing_keys is 'Keys that sign the tokens of an app.';
comment on column signing_keys.purpose is 'The kind of token that the key signs.';
comment on column signing_keys.private_key is 'The key, encrypted with the master key.';
comment on column signing_keys.retires_at is
  'Null for the key that signs. A rotated key verifies tokens until this time.';

create view app_records as
  select a.app_id as id, a.name, a.settings,
    coalesce((select string_agg(h.host, ' ' order by h.host) from app_hosts h
      where h.app_id = a.app_id), '') as hosts,
    a.version, a.created_at, a.updated_at
  from apps a;

comment on view app_records is 'Apps as the API and the command line show them.';

-- migrate: down

drop view app_records;
drop table signing_keys;
drop table client_grants;
drop function management_scopes();
drop table resource_servers;
drop table clients;
drop table issuers;
drop table app_hosts;
drop table apps;
drop function new_object_id();
