-- Authentication: passwords, API keys, mailed tokens, flows of several steps, second factors.

-- migrate: up

create table passwords (
  user_id text collate "C" primary key references users on delete cascade,
  hash text collate "C" not null,
  changed_at timestamptz not null default now()
);

comment on table passwords is 'Hashes of passwords.';
comment on column passwords.hash is
  'The hash with its algorithm and parameters, in the PHC string format.';

create table api_keys (
  user_id text collate "C" not null references users on delete cascade,
  key_id text collate "C" not null check (key_id ~ '^[0-9a-f]{24}$'),
  name text not null,
  key_hash bytea not null,
  disabled_at timestamptz,
  created_at timestamptz not null default now(),
  last_used_at timestamptz,
  primary key (user_id, key_id)
);

comment on table api_keys is 'API keys with which users sign in.';
comment on column api_keys.key_hash is 'A keyed hash of the key.';

create table mail_tokens (
  user_id text collate "C" not null references users on delete cascade,
  purpose text collate "C" not null check (purpose in ('verify', 'reset', 'restore')),
  token_hash bytea not null,
  email text not null,
  expires_at timestamptz not null,
  verifies boolean not null default true,
  result_url text,
  primary key (user_id, purpose, token_hash)
);

create index mail_tokens_by_time on mail_tokens (expires_at);

comment on table mail_tokens is
  'Tokens in mailed links and in tickets. The newest three of a purpose are valid.';
comment on column mail_tokens.purpose is
  'verify: verifies the address. reset: sets a new password. restore: gives the former address back.';
comment on column mail_tokens.token_hash is 'A keyed hash of the token.';
comment on column mail_tokens.email is 'The address that received the mail, or that a ticket is for.';
comment on column mail_tokens.verifies is
  'Whether the use of the token verifies the address. False for a ticket that only sets a password.';
comment on column mail_tokens.result_url is
  'Where the browser goes after the use of a ticket; null for a page of this server.';

create table authentication_flows (
  place text collate "C" not null check (place ~ '^[0-9a-f]{24}$'),
  app_id text collate "C" not null references apps on delete cascade,
  flow_id text collate "C" not null check (flow_id ~ '^[0-9a-f]{24}$'),
  purpose text collate "C" not null check (
    purpose in (
      'sign_in', 'passwordless', 'network_sign_in', 'network_reset', 'register', 'link',
      'change_email', 'second_factor', 'enroll')),
  email_key text collate "C",
  email text,
  password_hash text collate "C",
  code_hash bytea,
  provider text collate "C",
  evidence text collate "C",
  authenticated_at timestamptz,
  tries integer not null,
  expires_at timestamptz not null,
  primary key (place, flow_id)
);

-- Flows are deleted with their app.
create index authentication_flows_by_app on authentication_flows (app_id);
create index authentication_flows_by_time on authentication_flows (expires_at);

comment on table authentication_flows is
  'Sign-ins, registrations and changes of an address that wait for a code or a second factor.';
comment on column authentication_flows.password_hash is
  'The password of a registration, whose user is created when the code is entered.';
comment on column authentication_flows.code_hash is
  'A keyed hash of the mailed code. Null while none was sent, and if an authenticator app makes the codes.';
comment on column authentication_flows.place is
  'Whose flow it is: the user of a link, a change of address or a second factor. Else a hash of the address, or of the network of the client if the code alone names the flow.';
comment on column authentication_flows.provider is
  'The provider of the credential that the first step verified.';
comment on column authentication_flows.evidence is
  'The stored form of that credential, by which the last step checks it again.';
comment on column authentication_flows.authenticated_at is 'When the first step verified it.';
comment on column authentication_flows.tries is 'How many more codes may be entered.';

create table second_factors (
  user_id text collate "C" not null references users on delete cascade,
  factor_id text collate "C" not null check (factor_id ~ '^[0-9a-f]{24}$'),
  secret bytea not null,
  confirmed_at timestamptz,
  last_step bigint not null default 0,
  last_used_at timestamptz,
  created_at timestamptz not null default now(),
  primary key (user_id, factor_id)
);

comment on table second_factors is 'Authenticator apps (TOTP, RFC 6238) of users.';
comment on column second_factors.secret is 'The shared secret, encrypted with the master key.';
comment on column second_factors.confirmed_at is 'Null until the user entered a first code.';
comment on column second_factors.last_step is
  'The time step of the last accepted code, so that each code is accepted once.';

create table recovery_codes (
  user_id text collate "C" not null references users on delete cascade,
  code_hash bytea not null,
  created_at timestamptz not null default now(),
  primary key (user_id, code_hash)
);

comment on table recovery_codes is 'Unused recovery codes. Each replaces the authenticator once.';
comment on column recovery_codes.code_hash is 'A keyed hash of the code.';

create function has_second_factor(amr text) returns boolean
language sql immutable parallel safe
return ' ' || amr || ' ' like '% mfa %';

comment on function has_second_factor(text) is
  'Returns whether authentication methods (sessions.amr) include a second factor.';

create function meets_mfa(is_required boolean, amr text, provider text, is_guest boolean)
returns boolean
language sql immutable parallel safe
return not is_required or has_second_factor(amr) or provider = 'api-key' or is_guest;

comment on function meets_mfa(boolean, text, text, boolean) is
  'Returns whether a session may continue in an app that may require second factors. Guests and API keys need none.';

-- migrate: down

drop function meets_mfa(boolean, text, text, boolean);
drop function has_second_factor(text);
drop table recovery_codes;
drop table second_factors;
drop table authentication_flows;
drop table mail_tokens;
drop table api_keys;
drop table passwords;
