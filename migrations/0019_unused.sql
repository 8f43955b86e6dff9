-- Who is anonymous and has stored nothing is unused, whatever was changed before.

-- migrate: up

-- Whether nothing would be lost with an anonymous user: it has stored nothing, has no other way in,
-- and has not been seen for so many days; never when they are 0. Its version tells nothing: who lost
-- a claim to an address, and with it the only way in, has a later one, and so has who has removed what
-- it had stored. A blocked user stays, as what the operator did. A new table of user data belongs here
-- too, or a test fails.
create or replace function is_unused(u users, days integer) returns boolean
  language sql stable parallel safe
  return days > 0 and u.anonymous and u.blocked_at is null
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

-- migrate: down

create or replace function is_unused(u users, days integer) returns boolean
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
