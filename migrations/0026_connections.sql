-- Connections: other services to which an app sends its users to sign in.

-- migrate: up

create table connections (
  app_id text collate "C" not null references apps on delete cascade,
  name text collate "C" not null check (name ~ '^[a-z0-9][a-z0-9-]{0,62}$'),
  client_secret bytea,
  attributes jsonb not null default '{}' check (jsonb_typeof(attributes) = 'object'),
  version bigint not null default 1,
  created_at timestamptz not null default now(),
  primary key (app_id, name)
);

comment on table connections is
  'Other services to which an app sends its users to sign in, such as Google.';
comment on column connections.name is
  'The name by which the operator, clients and routes know it.';
comment on column connections.client_secret is
  'The secret that the service has given the app, or Apple''s private key, encrypted with the master key.';
comment on column connections.attributes is
  'What differs from the defaults, by the names that `dossier connection set` takes.';
comment on column connections.version is 'Grows by one with each change.';

-- migrate: down

drop table connections;
