-- OpenID Connect: authorizations of clients, and the consent of users.

-- migrate: up

create table authorizations (
  app_id text collate "C" not null references apps on delete cascade,
  authorization_id text collate "C" not null check (authorization_id ~ '^[0-9a-f]{24}$'),
  client_id text collate "C" not null,
  request jsonb not null check (jsonb_typeof(request) = 'object'),
  browser_hash bytea not null,
  state bytea,
  step integer not null default 0,
  is_settled boolean not null default true,
  claimed_at timestamptz,
  user_id text collate "C",
  session_id text collate "C",
  device_id text collate "C",
  scope text collate "C",
  code_hash bytea,
  redeemed_at timestamptz,
  redeemed_as text collate "C",
  created_at timestamptz not null default now(),
  expires_at timestamptz not null,
  primary key (app_id, authorization_id)
);

create index authorizations_by_time on authorizations (expires_at);

comment on table authorizations is
  'Requests of OpenID Connect clients, until a day after they have expired.';
comment on column authorizations.request is 'The parameters that were checked.';
comment on column authorizations.browser_hash is
  'A keyed hash of the cookie of the browser that sent the request. No other browser continues it.';
comment on column authorizations.state is
  'What the pages keep, such as the address and errors, encrypted with the master key.';
comment on column authorizations.step is
  'Grows by one with each form that was sent. A form is handled only once.';
comment on column authorizations.is_settled is 'False while a form of this step is handled.';
comment on column authorizations.claimed_at is
  'When a request began to handle the form. After 30 seconds, another may: the worker has ended.';
comment on column authorizations.user_id is 'The user who has signed in and agreed; null before.';
comment on column authorizations.session_id is 'The session of that user at the pages.';
comment on column authorizations.device_id is 'The device of that session: the browser.';
comment on column authorizations.scope is 'The scopes that the client gets.';
comment on column authorizations.code_hash is 'A keyed hash of the code; null before there is one.';
comment on column authorizations.redeemed_at is
  'When the client exchanged the code. A later exchange ends the session that came of it.';
comment on column authorizations.redeemed_as is 'That session.';

create table consents (
  user_id text collate "C" not null references users on delete cascade,
  client_id text collate "C" not null,
  audience text collate "C" not null default '',
  scope text collate "C" not null,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  primary key (user_id, client_id, audience)
);

comment on table consents is 'What users have allowed clients of OpenID Connect.';
comment on column consents.audience is
  'The identifier of the resource server; empty for the profile alone.';
comment on column consents.scope is 'The scopes, with spaces between them.';

-- migrate: down

drop table consents;
drop table authorizations;
