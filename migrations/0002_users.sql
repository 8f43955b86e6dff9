-- Users and the identities by which they are known.
--
-- user_id leads every key of every table of user data. What must be unique in an app (an
-- identity's subject) has a table of its own, keyed by app and subject.

-- migrate: up

create table users (
  user_id object_id primary key,
  app_id object_id not null,
  -- True until the first identity that can be logged in with again.
  anonymous boolean not null,
  email text,
  email_verified boolean not null default false,
  name text,
  given_name text,
  family_name text,
  nickname text,
  phone text,
  locale text,
  zone text,
  picture text,
  -- Grows by one with each change of the columns above and of the blocking below.
  version bigint not null default 1,
  -- The largest version of a property that was removed: a key that comes back goes on above it.
  property_floor bigint not null default 0,
  blocked_at timestamptz,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  last_login_at timestamptz,
  login_count bigint not null default 0
);

-- Pages of an app's users, oldest first: ids begin with their second.
create index users_by_app on users (app_id, user_id);

create table identities (
  user_id object_id not null references users on delete cascade,
  identity_id object_id not null,
  app_id object_id not null,
  -- anonymous, password, api-key, jwt: and the issuer's name, or what a foreign wire names.
  provider text collate "C" not null,
  -- What the provider calls the user: the email's key, the token's sub, the id of the API key.
  subject text collate "C" not null,
  profile jsonb not null default '{}',
  created_at timestamptz not null default now(),
  last_used_at timestamptz,
  primary key (user_id, identity_id)
);

-- An identity belongs to at most one user of an app; whoever inserts here first has it. Under
-- the provider `email` are the confirmed addresses.
create table identity_subjects (
  app_id object_id not null,
  provider text collate "C" not null,
  subject text collate "C" not null,
  user_id object_id not null,
  identity_id object_id not null,
  constraint identity_subjects_taken primary key (app_id, provider, subject)
);

-- No foreign key: on several nodes this table is spread otherwise than identities. What deletes an
-- identity or a user deletes here too, and looks for it by this.
create index identity_subjects_by_user on identity_subjects (user_id, identity_id);

create table passwords (
  user_id object_id primary key references users on delete cascade,
  -- With its algorithm and parameters, in the form of the PHC string format.
  hash text collate "C" not null,
  changed_at timestamptz not null default now()
);

-- Addresses that nobody has proved to be theirs: any number of users may claim one, and none is in
-- the way of whoever proves it.
create table unconfirmed_emails (
  app_id object_id not null,
  email_key text collate "C" not null,
  user_id object_id not null references users on delete cascade,
  created_at timestamptz not null default now(),
  primary key (app_id, email_key, user_id)
);

create index unconfirmed_emails_by_user on unconfirmed_emails (user_id);

-- What was mailed to a user to be shown again: one of each purpose, the newest.
create table mail_tokens (
  user_id object_id not null references users on delete cascade,
  purpose text collate "C" not null check (purpose in ('confirm', 'reset')),
  -- A keyed hash.
  token_hash bytea not null,
  -- The address that the mail went to.
  email text not null,
  expires_at timestamptz not null,
  primary key (user_id, purpose)
);

create index mail_tokens_by_time on mail_tokens (expires_at);

create table api_keys (
  user_id object_id not null references users on delete cascade,
  key_id object_id not null,
  name text not null,
  -- A keyed hash.
  key_hash bytea not null,
  disabled_at timestamptz,
  created_at timestamptz not null default now(),
  last_used_at timestamptz,
  primary key (user_id, key_id)
);

-- Failures of an identifier or an address, counted over all workers.
create table failures (
  app_id object_id not null,
  -- A keyed hash of what failed.
  subject bytea not null,
  count integer not null,
  -- When the count starts anew.
  until timestamptz not null,
  primary key (app_id, subject)
);

create index failures_by_time on failures (until);

-- What two addresses that people hold for the same have in common.
create function email_key(address text) returns text
  language sql immutable parallel safe strict
  return lower(normalize(btrim(address), nfkc) collate "und-x-icu");

-- A user as the API shows it. Inlined by the planner.
create function profile_of(u users) returns text
  language sql stable parallel safe
  return json_build_object(
    'id', u.user_id, 'created_at', u.created_at, 'updated_at', u.updated_at,
    'version', u.version, 'anonymous', u.anonymous, 'blocked', u.blocked_at is not null,
    'email', u.email, 'email_verified', u.email_verified, 'name', u.name,
    'given_name', u.given_name, 'family_name', u.family_name, 'nickname', u.nickname,
    'phone', u.phone, 'locale', u.locale, 'zone', u.zone, 'picture', u.picture)::text;

-- migrate: down

drop function profile_of;
drop function email_key;
drop table failures;
drop table api_keys;
drop table mail_tokens;
drop table unconfirmed_emails;
drop table passwords;
drop table identity_subjects;
drop table identities;
drop table users;
