-- Attempts are slowed down instead of counted, sessions are found by who is in them, and what nobody
-- uses is found.

-- migrate: up

drop table failures;

-- How far the attempts of a subject are ahead of the time that they are given: one is let through
-- while the row is less than the whole allowance ahead.
create table attempts (
  app_id object_id not null,
  -- A keyed hash of what is attempted by whom.
  subject bytea not null,
  -- When all attempts are worked off: each adds its share of the allowance's time.
  clear_at timestamptz not null,
  primary key (app_id, subject)
);

create index attempts_by_time on attempts (clear_at);

-- Lists of a user's sessions, and the limit of how many there may be.
create index sessions_live on sessions (user_id, session_id) where ended_at is null;

-- Housekeeping looks for those whom nobody will miss.
create index users_anonymous on users (app_id, user_id) where anonymous;

-- A number of its own, for housekeeping, as document_history is.
alter table apps add column anonymous_days integer not null
  generated always as (coalesce((settings ->> 'anonymous_days')::integer, 30)) stored;

-- Whether nothing would be lost with an anonymous user: it has stored nothing, has no other way in,
-- and has not been seen for so many days; never when they are 0. A new table of user data belongs here
-- too, or a test fails.
create function is_unused(u users, days integer) returns boolean
  language sql stable parallel safe
  return days > 0 and u.anonymous and u.version = 1
    and greatest(u.created_at, u.last_login_at) < now() - days * interval '1 day'
    and num_nonnulls(
      u.email, u.name, u.given_name, u.family_name, u.nickname, u.phone, u.locale, u.zone,
      u.picture) = 0
    and exists (
      select from identities t where t.user_id = u.user_id and t.provider = 'anonymous')
    and not exists (
      select from identities t where t.user_id = u.user_id and t.provider <> 'anonymous')
    and not exists (
      select from sessions t where t.user_id = u.user_id
        and t.refreshed_at >= now() - days * interval '1 day')
    and not exists (
      select from documents t where t.user_id = u.user_id and t.deleted_at is null)
    and not exists (select from document_versions t where t.user_id = u.user_id)
    and not exists (select from properties t where t.user_id = u.user_id)
    and not exists (select from pictures t where t.user_id = u.user_id)
    and not exists (select from api_keys t where t.user_id = u.user_id)
    and not exists (select from unconfirmed_emails t where t.user_id = u.user_id)
    and not exists (select from passwords t where t.user_id = u.user_id);

-- Addresses of IPv4 that were mapped into IPv6 are the ones of IPv4, as they are written now.
update sessions set address = substr(host(address), 8)::inet
where address <<= '::ffff:0:0/96' and host(address) like '::ffff:%.%';

update audit set address = substr(host(address), 8)::inet
where address <<= '::ffff:0:0/96' and host(address) like '::ffff:%.%';

-- migrate: down

drop function is_unused;
alter table apps drop column anonymous_days;
drop index users_anonymous;
drop index sessions_live;
drop table attempts;

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
