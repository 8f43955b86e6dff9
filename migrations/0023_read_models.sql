-- What is read of a user, an app, the audit trail and the rest has its columns in one place each, and
-- the path by which a wire shows a picture is the wire's: the database keeps its name.

-- migrate: up

update users set picture = substr(picture, length('/v1/pictures/') + 1)
  where picture like '/v1/pictures/%';

drop function profile_of(users);

-- What an app shows of a user.
create function profile_of(u users) returns table (
  id text, created_at timestamptz, updated_at timestamptz, version bigint, anonymous boolean,
  blocked boolean, email text, email_verified boolean, name text, given_name text,
  family_name text, nickname text, phone text, locale text, zone text, picture text)
language sql stable rows 1 parallel safe
begin atomic
  select u.user_id, u.created_at, u.updated_at, u.version, u.anonymous, u.blocked_at is not null,
    u.email, u.email_verified, u.name, u.given_name, u.family_name, u.nickname, u.phone, u.locale,
    u.zone, u.picture;
end;

-- What a patch leaves of the members that a user may change: those of the patch, null among them,
-- over those that are stored.
create function patched_profile(u users, patch jsonb) returns table (
  name text, given_name text, family_name text, nickname text, phone text, locale text, zone text)
language sql stable rows 1 parallel safe
begin atomic
  select p.name, p.given_name, p.family_name, p.nickname, p.phone, p.locale, p.zone
  from jsonb_populate_record(u, patch) p;
end;

-- Sessions that are neither ended nor expired.
create view live_sessions as
  select session_id as id, device_id, provider, host(address) as address, agent, created_at,
    refreshed_at, expires_at, user_id
  from sessions where ended_at is null and expires_at > now();

-- `user_id` is null where the entry is about the app itself, `subject_id` never.
create view audit_entries as
  select a.event_id as id, a.at, a.action, a.actor, nullif(a.user_id, a.app_id) as user_id,
    a.session_id, a.device_id, host(a.address) as address, a.agent, a.detail, p.name as app,
    a.user_id as subject_id, a.app_id
  from audit a left join apps p on p.app_id = a.app_id;

create view app_records as
  select a.app_id as id, a.name, a.settings,
    coalesce((select string_agg(h.host, ' ' order by h.host) from app_hosts h
      where h.app_id = a.app_id), '') as hosts,
    a.version, a.created_at, a.updated_at
  from apps a;

create view search_index_records as
  select index_id as id, class, to_json(path) as path, kind, state, created_at, app_id
  from search_indexes;

-- migrate: down

drop view search_index_records;
drop view app_records;
drop view audit_entries;
drop view live_sessions;
drop function patched_profile(users, jsonb);
drop function profile_of(users);

create function profile_of(u users) returns text
language sql stable parallel safe
return json_build_object(
  'id', u.user_id, 'created_at', u.created_at, 'updated_at', u.updated_at, 'version', u.version,
  'anonymous', u.anonymous, 'blocked', u.blocked_at is not null,
  'email', u.email, 'email_verified', u.email_verified,
  'name', u.name, 'given_name', u.given_name, 'family_name', u.family_name,
  'nickname', u.nickname, 'phone', u.phone, 'locale', u.locale, 'zone', u.zone,
  'picture', u.picture)::text;

update users set picture = '/v1/pictures/' || picture where picture is not null;
