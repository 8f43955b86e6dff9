-- `users` may get columns while programs run: what a function returns is a type of its own, whose
-- columns stay when the table grows. A function that returns rows of the table itself fails from then
-- on (42P13), and with `caller` nearly every request.

-- migrate: up

-- A user as statements pass it on. A column that a statement needs besides is read from `users`.
create type user_row as (
  user_id object_id, app_id object_id, anonymous boolean, email text, email_verified boolean,
  name text, given_name text, family_name text, nickname text, phone text, locale text, zone text,
  picture text, version bigint, property_floor bigint, blocked_at timestamptz,
  created_at timestamptz, updated_at timestamptz, last_login_at timestamptz, login_count bigint);

-- Inlined by the planner, as the functions below.
create function user_row(u users) returns user_row
language sql stable parallel safe
return row(u.user_id, u.app_id, u.anonymous, u.email, u.email_verified, u.name, u.given_name,
  u.family_name, u.nickname, u.phone, u.locale, u.zone, u.picture, u.version, u.property_floor,
  u.blocked_at, u.created_at, u.updated_at, u.last_login_at, u.login_count)::user_row;

drop function caller(text, text);

-- The user that a call is about. By the authority of a session: no row when it has ended or its user
-- is blocked. By that of an app, `app:` and its id, for its programs: no row when it is another
-- app's. Every statement checks it in its one round trip.
create function caller(of_user text, authority text) returns setof user_row
language sql stable rows 1 parallel safe
begin atomic
  -- Column by column: by `user_row` each would be a row made, and every plan would take so much longer.
  select u.user_id, u.app_id, u.anonymous, u.email, u.email_verified, u.name, u.given_name,
    u.family_name, u.nickname, u.phone, u.locale, u.zone, u.picture, u.version, u.property_floor,
    u.blocked_at, u.created_at, u.updated_at, u.last_login_at, u.login_count
  from users u
  where u.user_id = of_user and case when authority like 'app:%' then authority = 'app:' || u.app_id
    else u.blocked_at is null and exists (
      select from sessions s
      where s.user_id = of_user and s.session_id = authority and s.ended_at is null
        and s.expires_at > now()) end;
end;

-- What an app shows of a user.
create function profile_of(u user_row) returns table (
  id text, created_at timestamptz, updated_at timestamptz, version bigint, anonymous boolean,
  blocked boolean, email text, email_verified boolean, name text, given_name text,
  family_name text, nickname text, phone text, locale text, zone text, picture text)
language sql stable rows 1 parallel safe
begin atomic
  select u.user_id, u.created_at, u.updated_at, u.version, u.anonymous, u.blocked_at is not null,
    u.email, u.email_verified, u.name, u.given_name, u.family_name, u.nickname, u.phone, u.locale,
    u.zone, u.picture;
end;

create or replace function profile_of(u users) returns table (
  id text, created_at timestamptz, updated_at timestamptz, version bigint, anonymous boolean,
  blocked boolean, email text, email_verified boolean, name text, given_name text,
  family_name text, nickname text, phone text, locale text, zone text, picture text)
language sql stable rows 1 parallel safe
begin atomic
  select p.id, p.created_at, p.updated_at, p.version, p.anonymous, p.blocked, p.email,
    p.email_verified, p.name, p.given_name, p.family_name, p.nickname, p.phone, p.locale, p.zone,
    p.picture
  from profile_of(user_row(u)) p;
end;

-- migrate: down

create or replace function profile_of(u users) returns table (
  id text, created_at timestamptz, updated_at timestamptz, version bigint, anonymous boolean,
  blocked boolean, email text, email_verified boolean, name text, given_name text,
  family_name text, nickname text, phone text, locale text, zone text, picture text)
language sql stable rows 1 parallel safe
begin atomic
  select u.user_id, u.created_at, u.updated_at, u.version, u.anonymous, u.blocked_at is not null,
    u.email, u.email_verified, u.name, u.given_name, u.family_name, u.nickname, u.phone, u.locale,
    u.zone, u.picture;
end;

drop function profile_of(user_row);
drop function caller(text, text);
drop function user_row(users);
drop type user_row;

create function caller(of_user text, authority text) returns setof users
  language sql stable parallel safe rows 1
begin atomic
  select u.* from users u
  where u.user_id = of_user and case when authority like 'app:%' then authority = 'app:' || u.app_id
    else u.blocked_at is null and exists (
      select from sessions s
      where s.user_id = of_user and s.session_id = authority and s.ended_at is null
        and s.expires_at > now()) end;
end;
