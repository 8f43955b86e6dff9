-- Users and their identities.
--
-- user_id leads every key of every table of user data. Uniqueness within an app has a table of its
-- own, identity_subjects, keyed by app and subject.
--
-- Both functions once used a collation of ICU, which not every PostgreSQL has. 0043 replaces them.

-- migrate: formerly da6ba48ca19d9eec018e1d1573c4dafbe7324655b833487797f9374f740adefe
-- migrate: up

create function email_key(address text) returns text
  language sql immutable parallel safe strict
  return lower(normalize(btrim(address), nfkc) collate "C");

comment on function email_key(text) is
  'Returns the form in which addresses are compared: two addresses with the same key are the same.';

create function name_key(name text) returns text
  language sql immutable parallel safe strict
  return left(lower(normalize(name, nfkc) collate "C"), 256);

comment on function name_key(text) is
  'Returns the form in which searches compare names. It is short enough for an index.';

create table users (
  user_id text collate "C" primary key check (user_id ~ '^[0-9a-f]{24}$'),
  app_id text collate "C" not null,
  foreign_id text collate "C" check (length(foreign_id) between 3 and 255),
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
  version bigint not null default 1,
  property_version_floor bigint not null default 0,
  blocked_at timestamptz,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  last_login_at timestamptz,
  login_count bigint not null default 0,
  picture_url text check (length(picture_url) <= 2048)
);

-- Pages of an app's users, oldest first: ids begin with their second.
create index users_by_app on users (app_id, user_id);

-- Maintenance looks for anonymous users without data.
create index users_anonymous on users (user_id) where anonymous;

-- Members of the profile that every app can search by. A login changes none of them.
create index users_by_email on users (app_id, (email_key(email)) collate "C", user_id)
  where email is not null;
create index users_by_email_domain
  on users (app_id, (split_part(email_key(email), '@', -1)) collate "C", user_id)
  where email is not null;
create index users_by_phone on users (app_id, phone collate "C", user_id) where phone is not null;
create index users_by_name on users (app_id, (name_key(name)) collate "C", user_id)
  where name is not null;
create index users_by_given_name on users (app_id, (name_key(given_name)) collate "C", user_id)
  where given_name is not null;
create index users_by_family_name on users (app_id, (name_key(family_name)) collate "C", user_id)
  where family_name is not null;
create index users_by_nickname on users (app_id, (name_key(nickname)) collate "C", user_id)
  where nickname is not null;
create index users_by_created_at on users (app_id, created_at, user_id);

comment on table users is 'Users of all apps, with their profiles.';
comment on column users.foreign_id is
  'The id that Auth0''s clients see, if the user was imported with one; null for auth0| and user_id. identity_subjects finds it with the provider auth0.';
comment on column users.anonymous is
  'Whether the user has no identity to sign in with again. Such a user is a guest.';
comment on column users.email is 'The address as the user wrote it; email_key compares it.';
comment on column users.email_verified is 'Whether the user has verified the address.';
comment on column users.picture is 'The name of the current picture in the table pictures.';
comment on column users.picture_url is
  'A picture elsewhere, which a back end has set for Auth0''s clients. No program fetches it.';
comment on column users.version is
  'Grows by one with each change of the profile, the address or the block. A request of a back end with several changes counts once.';
comment on column users.property_version_floor is
  'The largest version of a removed property. A property with the same key continues above it.';
comment on column users.blocked_at is 'When an administrator blocked the user; null if nobody did.';

create table user_origins (
  user_id text collate "C" not null references users on delete cascade,
  kind text collate "C" not null check (kind in ('anonymous', 'registered')),
  primary key (user_id, kind)
);

comment on table user_origins is 'How a user was created, if the identities of the user no longer show it.';
comment on column user_origins.kind is
  'anonymous: as a guest who linked an identity later. registered: by a registration without a session; until the first login, a client with the password may continue the account.';

create table identities (
  user_id text collate "C" not null references users on delete cascade,
  identity_id text collate "C" not null check (identity_id ~ '^[0-9a-f]{24}$'),
  app_id text collate "C" not null,
  provider text collate "C" not null,
  subject text collate "C" not null,
  profile jsonb not null default '{}',
  created_at timestamptz not null default now(),
  verified_via_mail_only boolean not null default false,
  primary key (user_id, identity_id)
);

comment on table identities is 'Identities of users: what they sign in with.';
comment on column identities.provider is
  'anonymous, password, email, api-key, or jwt: followed by the iss of the issuer.';
comment on column identities.subject is
  'The name of the user at the provider: the key of the address, the sub of a token, the id of an API key.';
comment on column identities.profile is
  'Of a linked identity: the id, foreign id, address and names of the user it had before.';
comment on column identities.verified_via_mail_only is
  'Whether only a mail verified the address. Its reader may not be the user who chose the password, so the first reset revokes all other credentials.';

create table identity_subjects (
  app_id text collate "C" not null,
  provider text collate "C" not null,
  subject text collate "C" not null,
  user_id text collate "C" not null,
  identity_id text collate "C" not null,
  reserved_until timestamptz,
  assigned boolean not null default false,
  constraint identity_subjects_taken primary key (app_id, provider, subject)
);

create index identity_subjects_reserved on identity_subjects (reserved_until)
  where reserved_until is not null;

comment on table identity_subjects is
  'The user of each identity and address. An identity belongs to at most one user of an app. No foreign key, since several nodes distribute this table by another key than identities.';
comment on column identity_subjects.provider is
  'As in identities; email stands for addresses, verified or not, and auth0 for users.foreign_id.';
comment on column identity_subjects.reserved_until is
  'For a former address of the user: until when no other user can have it. Null for the present one.';
comment on column identity_subjects.assigned is
  'Whether an operator, a back end or an import gave this address to the user. A link or a change by the user clears it.';

create table additional_subjects (
  user_id text collate "C" not null references users on delete cascade,
  provider text collate "C" not null,
  subject text collate "C" not null,
  reserved_until timestamptz,
  primary key (user_id, provider, subject)
);

create index additional_subjects_reserved on additional_subjects (reserved_until)
  where reserved_until is not null;

comment on table additional_subjects is
  'Subjects of users besides those that users and identities name: former addresses that are still reserved, and further foreign ids. identity_subjects cannot be searched by user.';
comment on column additional_subjects.reserved_until is
  'As in identity_subjects; null for a foreign id.';

create view profiles as
  select u.user_id as id, u.created_at, u.updated_at, u.version, u.anonymous,
    u.blocked_at is not null as blocked, u.email, u.email_verified, u.name, u.given_name,
    u.family_name, u.nickname, u.phone, u.locale, u.zone, u.picture, u.app_id
  from users u;

comment on view profiles is 'Profiles as the API shows them.';

create function patched(patch jsonb, member text, stored text) returns text
language sql immutable parallel safe
return case when patch ? member then patch ->> member else stored end;

comment on function patched(jsonb, text, text) is
  'Returns the value of a column after a patch: that of the member, null included, or else the stored one.';

-- migrate: down

drop function patched(jsonb, text, text);
drop view profiles;
drop table additional_subjects;
drop table identity_subjects;
drop table identities;
drop table user_origins;
drop table users;
drop function name_key(text);
drop function email_key(text);
