--
-- PostgreSQL database dump
--

--
-- Name: object_id; Type: DOMAIN; Schema: public; Owner: -
--

CREATE DOMAIN public.object_id AS text COLLATE pg_catalog."C"
	CONSTRAINT object_id_check CHECK ((VALUE ~ '^[0-9a-f]{24}$'::text));


--
-- Name: user_row; Type: TYPE; Schema: public; Owner: -
--

CREATE TYPE public.user_row AS (
	user_id public.object_id,
	app_id public.object_id,
	anonymous boolean,
	email text,
	email_verified boolean,
	name text,
	given_name text,
	family_name text,
	nickname text,
	phone text,
	locale text,
	zone text,
	picture text,
	version bigint,
	property_floor bigint,
	blocked_at timestamp with time zone,
	created_at timestamp with time zone,
	updated_at timestamp with time zone,
	last_login_at timestamp with time zone,
	login_count bigint
);


--
-- Name: sessions; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.sessions (
    user_id public.object_id NOT NULL,
    session_id public.object_id NOT NULL,
    app_id public.object_id NOT NULL,
    device_id public.object_id NOT NULL,
    client_id text COLLATE pg_catalog."C",
    provider text NOT NULL COLLATE pg_catalog."C",
    scope text NOT NULL COLLATE pg_catalog."C",
    refresh_generation integer DEFAULT 1 NOT NULL,
    refresh_salt bytea NOT NULL,
    refreshed_at timestamp with time zone DEFAULT now() NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    ended_at timestamp with time zone,
    end_reason text COLLATE pg_catalog."C",
    address inet,
    agent text,
    authenticated_at timestamp with time zone DEFAULT now() NOT NULL,
    key_id public.object_id,
    style text DEFAULT 'native'::text NOT NULL COLLATE pg_catalog."C",
    amr text DEFAULT ''::text NOT NULL COLLATE pg_catalog."C"
);


--
-- Name: users; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.users (
    user_id public.object_id NOT NULL,
    app_id public.object_id NOT NULL,
    anonymous boolean NOT NULL,
    email text,
    email_verified boolean DEFAULT false NOT NULL,
    name text,
    given_name text,
    family_name text,
    nickname text,
    phone text,
    locale text,
    zone text,
    picture text,
    version bigint DEFAULT 1 NOT NULL,
    property_floor bigint DEFAULT 0 NOT NULL,
    blocked_at timestamp with time zone,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    updated_at timestamp with time zone DEFAULT now() NOT NULL,
    last_login_at timestamp with time zone,
    login_count bigint DEFAULT 0 NOT NULL
);


--
-- Name: caller(text, text); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.caller(of_user text, authority text) RETURNS SETOF public.user_row
    LANGUAGE sql STABLE ROWS 1 PARALLEL SAFE
    BEGIN ATOMIC
 SELECT u.user_id,
     u.app_id,
     u.anonymous,
     u.email,
     u.email_verified,
     u.name,
     u.given_name,
     u.family_name,
     u.nickname,
     u.phone,
     u.locale,
     u.zone,
     u.picture,
     u.version,
     u.property_floor,
     u.blocked_at,
     u.created_at,
     u.updated_at,
     u.last_login_at,
     u.login_count
    FROM public.users u
   WHERE (((u.user_id)::text = caller.of_user) AND
         CASE
             WHEN (caller.authority ~~ 'app:%'::text) THEN (caller.authority = ('app:'::text || (u.app_id)::text))
             ELSE ((u.blocked_at IS NULL) AND (EXISTS ( SELECT
                FROM public.sessions s
               WHERE (((s.user_id)::text = caller.of_user) AND ((s.session_id)::text = caller.authority) AND (s.ended_at IS NULL) AND (s.expires_at > now())))))
         END);
END;


--
-- Name: device_users; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.device_users (
    user_id public.object_id NOT NULL,
    device_id public.object_id NOT NULL,
    chosen_at timestamp with time zone DEFAULT now() NOT NULL,
    assurance smallint DEFAULT 1 NOT NULL,
    CONSTRAINT device_users_assurance_check CHECK (((assurance >= 0) AND (assurance <= 2)))
);


--
-- Name: devices; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.devices (
    device_id public.object_id NOT NULL,
    app_id public.object_id NOT NULL,
    secret_hash bytea NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    last_seen_at timestamp with time zone DEFAULT now() NOT NULL,
    previous_hash bytea,
    replaced_at timestamp with time zone,
    inactive_since timestamp with time zone
);


--
-- Name: device_places(text, boolean); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.device_places(of_device text, switching boolean) RETURNS TABLE(user_id text, chosen_at timestamp with time zone, session_id text, is_live boolean, is_active boolean)
    LANGUAGE sql STABLE ROWS 4 PARALLEL SAFE
    BEGIN ATOMIC
 SELECT p.user_id,
     p.chosen_at,
     s.session_id,
     (s.session_id IS NOT NULL),
     ((s.session_id IS NOT NULL) AND (row_number() OVER (ORDER BY (device_places.switching AND (s.session_id IS NULL)), p.chosen_at DESC, p.user_id) = 1) AND (p.chosen_at > COALESCE(( SELECT d.inactive_since
            FROM public.devices d
           WHERE ((d.device_id)::text = device_places.of_device)), '-infinity'::timestamp with time zone)))
    FROM (public.device_users p
      LEFT JOIN LATERAL ( SELECT s_1.session_id
            FROM public.sessions s_1
           WHERE (((s_1.device_id)::text = (p.device_id)::text) AND ((s_1.user_id)::text = (p.user_id)::text) AND (s_1.ended_at IS NULL) AND (s_1.expires_at > now()) AND ( SELECT (u.blocked_at IS NULL)
                    FROM public.users u
                   WHERE ((u.user_id)::text = (p.user_id)::text)))
           ORDER BY s_1.created_at DESC, s_1.session_id DESC
          LIMIT 1) s ON (true))
   WHERE ((p.device_id)::text = device_places.of_device);
END;


--
-- Name: identities; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.identities (
    user_id public.object_id NOT NULL,
    identity_id public.object_id NOT NULL,
    app_id public.object_id NOT NULL,
    provider text NOT NULL COLLATE pg_catalog."C",
    subject text NOT NULL COLLATE pg_catalog."C",
    profile jsonb DEFAULT '{}'::jsonb NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    last_used_at timestamp with time zone,
    proved_by_reader boolean DEFAULT false NOT NULL
);


--
-- Name: identity_subjects; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.identity_subjects (
    app_id public.object_id NOT NULL,
    provider text NOT NULL COLLATE pg_catalog."C",
    subject text NOT NULL COLLATE pg_catalog."C",
    user_id public.object_id NOT NULL,
    identity_id public.object_id NOT NULL,
    reserved_until timestamp with time zone
);


--
-- Name: drop_anonymous_identity(text); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.drop_anonymous_identity(of_user text) RETURNS boolean
    LANGUAGE sql
    BEGIN ATOMIC
 DELETE FROM public.identities
   WHERE (((identities.user_id)::text = drop_anonymous_identity.of_user) AND (identities.provider = 'anonymous'::text));
 DELETE FROM public.identity_subjects
   WHERE (((identity_subjects.user_id)::text = drop_anonymous_identity.of_user) AND (identity_subjects.provider = 'anonymous'::text));
 SELECT true;
END;


--
-- Name: email_key(text); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.email_key(address text) RETURNS text
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    RETURN lower((NORMALIZE(btrim(address), NFKC) COLLATE "und-x-icu"));


--
-- Name: record_event(text, text, text, text, text, text, inet, text, jsonb, text); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.record_event(of_user text, of_app text, of_action text, by_actor text, of_session text, of_device text, from_address inet, from_agent text, facts jsonb DEFAULT '{}'::jsonb, as_event text DEFAULT NULL::text) RETURNS text
    LANGUAGE plpgsql
    AS $$
declare
  event text := coalesce(as_event, new_object_id());
begin
  insert into audit (
    user_id, event_id, app_id, action, actor, session_id, device_id, address, agent, detail)
  values (
    of_user, event, of_app, of_action, by_actor, of_session, of_device, from_address, from_agent,
    facts);
  return event;
end
$$;


--
-- Name: end_sessions(text, text, text, inet, text, text, text, text); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.end_sessions(of_user text, reason text, by_actor text, from_address inet, from_agent text, one text DEFAULT NULL::text, spared text DEFAULT NULL::text, by_key text DEFAULT NULL::text) RETURNS SETOF text
    LANGUAGE sql
    BEGIN ATOMIC
 WITH ended AS (
          UPDATE public.sessions s SET ended_at = now(), end_reason = end_sessions.reason
           WHERE (((s.user_id)::text = end_sessions.of_user) AND (s.ended_at IS NULL) AND ((end_sessions.one IS NULL) OR ((s.session_id)::text = end_sessions.one)) AND ((end_sessions.spared IS NULL) OR ((s.session_id)::text <> end_sessions.spared)) AND ((end_sessions.by_key IS NULL) OR ((s.provider = 'api-key'::text) AND (COALESCE((s.key_id)::text, end_sessions.by_key) = end_sessions.by_key))))
           RETURNING s.user_id,
             s.session_id,
             s.device_id,
             s.app_id
         ), places AS (
          DELETE FROM public.device_users p
           WHERE (((p.user_id)::text = end_sessions.of_user) AND (end_sessions.one IS NULL) AND (end_sessions.by_key IS NULL) AND (end_sessions.reason <> 'blocked'::text) AND (NOT (EXISTS ( SELECT
                    FROM public.sessions s
                   WHERE (((s.user_id)::text = end_sessions.of_user) AND ((s.session_id)::text = end_sessions.spared) AND ((s.device_id)::text = (p.device_id)::text))))) AND (( SELECT count(*) AS count
                    FROM ended) >= 0))
           RETURNING p.user_id,
             p.device_id
         ), removed AS (
          SELECT public.record_event((p.user_id)::text, (u.app_id)::text, 'device_remove'::text, end_sessions.by_actor, NULL::text, (p.device_id)::text, end_sessions.from_address, end_sessions.from_agent) AS record_event
            FROM (places p
              JOIN public.users u ON (((u.user_id)::text = end_sessions.of_user)))
         ), facts AS (
          SELECT e.session_id,
             public.record_event((e.user_id)::text, (e.app_id)::text, 'session_end'::text, end_sessions.by_actor, (e.session_id)::text, (e.device_id)::text, end_sessions.from_address, end_sessions.from_agent, jsonb_build_object('reason', end_sessions.reason)) AS record_event
            FROM ended e
         )
  SELECT f.session_id
    FROM facts f
   WHERE (( SELECT count(*) AS count
            FROM removed) >= 0);
END;


--
-- Name: has_second_factor(text); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.has_second_factor(amr text) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN (((' '::text || amr) || ' '::text) ~~ '% mfa %'::text);


--
-- Name: index_document(text, text, text, jsonb); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.index_document(of_app text, of_user text, of_class text, body jsonb) RETURNS boolean
    LANGUAGE plpgsql
    AS $$
declare
  changed record;
begin
  for changed in
    select i.index_id, n.*
    from search_indexes i
    cross join lateral (select body #> i.path as value, jsonb_typeof(body #> i.path) as type) f
    cross join lateral (
      select coalesce(f.type <> 'null', false) as is_there,
        case when i.kind = 'text' and f.type = 'string' then left(f.value #>> '{}', 256) end
          as text_value,
        case when i.kind = 'number' and f.type = 'number' then f.value::numeric end
          as number_value,
        case when i.kind = 'boolean' and f.type = 'boolean' then f.value::boolean end
          as boolean_value
    ) n
    -- By the primary key, whatever the statistics: `limit` keeps the planner from a hash of all.
    left join lateral (
      select v.text_value, v.number_value, v.boolean_value, true as is_there
      from search_values v where v.user_id = of_user and v.index_id = i.index_id limit 1
    ) v on true
    where i.app_id = of_app and i.class = of_class and i.state <> 'removing'
      and (n.is_there <> (v.is_there is not null) or n.text_value is distinct from v.text_value
        or n.number_value is distinct from v.number_value
        or n.boolean_value is distinct from v.boolean_value)
  loop
    if changed.is_there then
      insert into search_values (user_id, index_id, text_value, number_value, boolean_value)
      values (of_user, changed.index_id, changed.text_value, changed.number_value,
        changed.boolean_value)
      on conflict (user_id, index_id) do update set text_value = excluded.text_value,
        number_value = excluded.number_value, boolean_value = excluded.boolean_value;
    else
      delete from search_values v where v.user_id = of_user and v.index_id = changed.index_id;
    end if;
  end loop;
  return true;
end
$$;


--
-- Name: api_keys; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.api_keys (
    user_id public.object_id NOT NULL,
    key_id public.object_id NOT NULL,
    name text NOT NULL,
    key_hash bytea NOT NULL,
    disabled_at timestamp with time zone,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    last_used_at timestamp with time zone
);


--
-- Name: authentication_flows; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.authentication_flows (
    app_id public.object_id NOT NULL,
    flow_id public.object_id NOT NULL,
    purpose text NOT NULL COLLATE pg_catalog."C",
    user_id public.object_id,
    email_key text COLLATE pg_catalog."C",
    email text,
    password_hash text COLLATE pg_catalog."C",
    code_hash bytea,
    provider text COLLATE pg_catalog."C",
    evidence text COLLATE pg_catalog."C",
    authenticated_at timestamp with time zone,
    tries integer NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    CONSTRAINT authentication_flows_purpose_check CHECK ((purpose = ANY (ARRAY['sign_in'::text, 'register'::text, 'change_email'::text, 'second_factor'::text, 'enroll'::text])))
);


--
-- Name: document_versions; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.document_versions (
    user_id public.object_id NOT NULL,
    class text NOT NULL COLLATE pg_catalog."C",
    version bigint NOT NULL,
    app_id public.object_id NOT NULL,
    body jsonb,
    actor text NOT NULL COLLATE pg_catalog."C",
    changed_at timestamp with time zone DEFAULT now() NOT NULL,
    kept integer NOT NULL
);


--
-- Name: documents; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.documents (
    user_id public.object_id NOT NULL,
    class text NOT NULL COLLATE pg_catalog."C",
    body jsonb NOT NULL,
    version bigint NOT NULL,
    deleted_at timestamp with time zone,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    updated_at timestamp with time zone DEFAULT now() NOT NULL,
    size integer GENERATED ALWAYS AS (octet_length((body)::text)) STORED NOT NULL,
    CONSTRAINT documents_body_check CHECK ((jsonb_typeof(body) = 'object'::text)),
    CONSTRAINT documents_class_check CHECK ((class = ANY (ARRAY['metadata'::text, 'app_metadata'::text, 'custom_data'::text]))),
    CONSTRAINT documents_size CHECK ((size <=
CASE class
    WHEN 'custom_data'::text THEN 1048576
    ELSE 65536
END))
);


--
-- Name: passwords; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.passwords (
    user_id public.object_id NOT NULL,
    hash text NOT NULL COLLATE pg_catalog."C",
    changed_at timestamp with time zone DEFAULT now() NOT NULL
);


--
-- Name: pictures; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.pictures (
    user_id public.object_id NOT NULL,
    name text NOT NULL COLLATE pg_catalog."C",
    body bytea,
    created_at timestamp with time zone DEFAULT now() NOT NULL
);
ALTER TABLE ONLY public.pictures ALTER COLUMN body SET STORAGE EXTERNAL;


--
-- Name: properties; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.properties (
    user_id public.object_id NOT NULL,
    key text NOT NULL COLLATE pg_catalog."C",
    value text NOT NULL,
    version bigint NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    updated_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT properties_key CHECK (((char_length(key) >= 1) AND (char_length(key) <= 128))),
    CONSTRAINT properties_value CHECK (
CASE jsonb_typeof((value)::jsonb)
    WHEN 'string'::text THEN (char_length(((value)::jsonb #>> '{}'::text[])) <= 1024)
    ELSE (jsonb_typeof((value)::jsonb) = ANY (ARRAY['boolean'::text, 'number'::text]))
END)
);


--
-- Name: recovery_codes; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.recovery_codes (
    user_id public.object_id NOT NULL,
    code_hash bytea NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL
);


--
-- Name: second_factors; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.second_factors (
    user_id public.object_id NOT NULL,
    factor_id public.object_id NOT NULL,
    secret bytea NOT NULL,
    confirmed_at timestamp with time zone,
    last_step bigint DEFAULT 0 NOT NULL,
    last_used_at timestamp with time zone,
    created_at timestamp with time zone DEFAULT now() NOT NULL
);


--
-- Name: is_unused(public.users, integer); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.is_unused(u public.users, days integer) RETURNS boolean
    LANGUAGE sql STABLE PARALLEL SAFE
    RETURN ((days > 0) AND (u).anonymous AND ((u).blocked_at IS NULL) AND (GREATEST((u).created_at, (u).last_login_at) < (now() - ((days)::double precision * '1 day'::interval))) AND (num_nonnulls((u).email, (u).name, (u).given_name, (u).family_name, (u).nickname, (u).phone, (u).locale, (u).zone, (u).picture) = 0) AND (EXISTS (SELECT FROM public.identities t WHERE (((t.user_id)::text = ((is_unused.u).user_id)::text) AND (t.provider = 'anonymous'::text)))) AND (NOT (EXISTS (SELECT FROM public.identities t WHERE (((t.user_id)::text = ((is_unused.u).user_id)::text) AND (t.provider <> 'anonymous'::text))))) AND (NOT (EXISTS (SELECT FROM public.sessions t WHERE (((t.user_id)::text = ((is_unused.u).user_id)::text) AND (t.refreshed_at >= (now() - ((is_unused.days)::double precision * '1 day'::interval))))))) AND (NOT (EXISTS (SELECT FROM public.documents t WHERE (((t.user_id)::text = ((is_unused.u).user_id)::text) AND (t.deleted_at IS NULL))))) AND (NOT (EXISTS (SELECT FROM public.document_versions t WHERE ((t.user_id)::text = ((is_unused.u).user_id)::text)))) AND (NOT (EXISTS (SELECT FROM public.properties t WHERE ((t.user_id)::text = ((is_unused.u).user_id)::text)))) AND (NOT (EXISTS (SELECT FROM public.pictures t WHERE ((t.user_id)::text = ((is_unused.u).user_id)::text)))) AND (NOT (EXISTS (SELECT FROM public.api_keys t WHERE ((t.user_id)::text = ((is_unused.u).user_id)::text)))) AND (NOT (EXISTS (SELECT FROM public.authentication_flows t WHERE ((t.user_id)::text = ((is_unused.u).user_id)::text)))) AND (NOT (EXISTS (SELECT FROM public.second_factors t WHERE ((t.user_id)::text = ((is_unused.u).user_id)::text)))) AND (NOT (EXISTS (SELECT FROM public.recovery_codes t WHERE ((t.user_id)::text = ((is_unused.u).user_id)::text)))) AND (NOT (EXISTS (SELECT FROM public.passwords t WHERE ((t.user_id)::text = ((is_unused.u).user_id)::text)))));


--
-- Name: keep_version(text, integer, text, text, bigint, jsonb, text); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.keep_version(of_app text, count integer, of_user text, of_class text, of_version bigint, new_body jsonb, by_actor text) RETURNS boolean
    LANGUAGE plpgsql
    AS $$
begin
  insert into document_versions (user_id, class, version, app_id, body, actor, kept)
  values (of_user, of_class, of_version, of_app, new_body, by_actor, count);
  delete from document_versions v
  where v.user_id = of_user and v.class = of_class and v.version <= of_version - count;
  return true;
end
$$;


--
-- Name: meets_mfa(boolean, text, text, boolean); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.meets_mfa(is_required boolean, amr text, provider text, is_guest boolean) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN ((NOT is_required) OR public.has_second_factor(amr) OR (provider = 'api-key'::text) OR is_guest);


--
-- Name: merge_patch(jsonb, jsonb); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.merge_patch(target jsonb, patch jsonb) RETURNS jsonb
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
    AS $$
begin
  if jsonb_typeof(patch) <> 'object' then
    return patch;
  end if;
  return (
    select coalesce(jsonb_object_agg(coalesce(p.key, t.key), case
      when p.key is null then t.value
      when jsonb_typeof(p.value) = 'object' then merge_patch(t.value, p.value)
      else p.value end), '{}')
    from jsonb_each(case when jsonb_typeof(target) = 'object' then target else '{}' end) t
    full join jsonb_each(patch) p on p.key = t.key
    where p.key is null or jsonb_typeof(p.value) <> 'null'
  );
end
$$;


--
-- Name: new_object_id(); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.new_object_id() RETURNS text
    LANGUAGE sql PARALLEL SAFE
    RETURN (to_hex(((date_part('epoch'::text, clock_timestamp()) * (1048576)::double precision))::bigint) || "left"(replace((gen_random_uuid())::text, '-'::text, ''::text), 11));


--
-- Name: patched_profile(public.users, jsonb); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.patched_profile(u public.users, patch jsonb) RETURNS TABLE(name text, given_name text, family_name text, nickname text, phone text, locale text, zone text)
    LANGUAGE sql STABLE ROWS 1 PARALLEL SAFE
    BEGIN ATOMIC
 SELECT p.name,
     p.given_name,
     p.family_name,
     p.nickname,
     p.phone,
     p.locale,
     p.zone
    FROM jsonb_populate_record(patched_profile.u, patched_profile.patch) p(user_id, app_id, anonymous, email, email_verified, name, given_name, family_name, nickname, phone, locale, zone, picture, version, property_floor, blocked_at, created_at, updated_at, last_login_at, login_count);
END;


--
-- Name: profile_of(public.user_row); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.profile_of(u public.user_row) RETURNS TABLE(id text, created_at timestamp with time zone, updated_at timestamp with time zone, version bigint, anonymous boolean, blocked boolean, email text, email_verified boolean, name text, given_name text, family_name text, nickname text, phone text, locale text, zone text, picture text)
    LANGUAGE sql STABLE ROWS 1 PARALLEL SAFE
    BEGIN ATOMIC
 SELECT (u).user_id AS user_id,
     (u).created_at AS created_at,
     (u).updated_at AS updated_at,
     (u).version AS version,
     (u).anonymous AS anonymous,
     ((u).blocked_at IS NOT NULL),
     (u).email AS email,
     (u).email_verified AS email_verified,
     (u).name AS name,
     (u).given_name AS given_name,
     (u).family_name AS family_name,
     (u).nickname AS nickname,
     (u).phone AS phone,
     (u).locale AS locale,
     (u).zone AS zone,
     (u).picture AS picture;
END;


--
-- Name: user_row(public.users); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.user_row(u public.users) RETURNS public.user_row
    LANGUAGE sql STABLE PARALLEL SAFE
    RETURN ROW((u).user_id, (u).app_id, (u).anonymous, (u).email, (u).email_verified, (u).name, (u).given_name, (u).family_name, (u).nickname, (u).phone, (u).locale, (u).zone, (u).picture, (u).version, (u).property_floor, (u).blocked_at, (u).created_at, (u).updated_at, (u).last_login_at, (u).login_count)::public.user_row;


--
-- Name: profile_of(public.users); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.profile_of(u public.users) RETURNS TABLE(id text, created_at timestamp with time zone, updated_at timestamp with time zone, version bigint, anonymous boolean, blocked boolean, email text, email_verified boolean, name text, given_name text, family_name text, nickname text, phone text, locale text, zone text, picture text)
    LANGUAGE sql STABLE ROWS 1 PARALLEL SAFE
    BEGIN ATOMIC
 SELECT p.id,
     p.created_at,
     p.updated_at,
     p.version,
     p.anonymous,
     p.blocked,
     p.email,
     p.email_verified,
     p.name,
     p.given_name,
     p.family_name,
     p.nickname,
     p.phone,
     p.locale,
     p.zone,
     p.picture
    FROM public.profile_of(public.user_row(profile_of.u)) p(id, created_at, updated_at, version, anonymous, blocked, email, email_verified, name, given_name, family_name, nickname, phone, locale, zone, picture);
END;


--
-- Name: proved_device(text, text, bytea); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.proved_device(of_device text, of_app text, shown bytea) RETURNS TABLE(device_id text, until timestamp with time zone)
    LANGUAGE sql STABLE ROWS 1 PARALLEL SAFE
    BEGIN ATOMIC
 SELECT d.device_id,
         CASE
             WHEN (d.secret_hash = proved_device.shown) THEN 'infinity'::timestamp with time zone
             ELSE d.replaced_at
         END AS replaced_at
    FROM public.devices d
   WHERE (((d.device_id)::text = proved_device.of_device) AND ((d.app_id)::text = proved_device.of_app) AND ((d.secret_hash = proved_device.shown) OR ((d.previous_hash = proved_device.shown) AND (d.replaced_at > (now() - '00:00:30'::interval)))));
END;


--
-- Name: record_change(text, text, jsonb); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.record_change(of_user text, of_app text, change jsonb) RETURNS boolean
    LANGUAGE sql STRICT
    BEGIN ATOMIC
 SELECT (public.record_event(of_user, of_app, 'data_change'::text, (change ->> 'actor'::text), (change ->> 'session'::text), NULL::text, ((change ->> 'address'::text))::inet, (change ->> 'agent'::text), jsonb_build_object('what', (change -> 'what'::text))) IS NOT NULL);
END;


--
-- Name: require(boolean); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.require(holds boolean) RETURNS boolean
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
    AS $$
begin
  if holds is not true then
    raise exception using errcode = 'XD003', message = 'a requirement does not hold';
  end if;
  return true;
end
$$;


--
-- Name: revoke_credentials(text, text, text, inet, text, text); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.revoke_credentials(of_user text, of_app text, by_actor text, from_address inet, from_agent text, spared_device text DEFAULT NULL::text) RETURNS boolean
    LANGUAGE sql
    BEGIN ATOMIC
 WITH gone AS (
          DELETE FROM public.identities i
           WHERE (((i.user_id)::text = revoke_credentials.of_user) AND (i.provider <> ALL (ARRAY['password'::text, 'email'::text])))
           RETURNING i.provider
         ), subjects AS (
          DELETE FROM public.identity_subjects s
           WHERE (((s.user_id)::text = revoke_credentials.of_user) AND (s.provider <> 'email'::text))
         ), keys AS (
          DELETE FROM public.api_keys k
           WHERE ((k.user_id)::text = revoke_credentials.of_user)
         ), places AS (
          DELETE FROM public.device_users p
           WHERE (((p.user_id)::text = revoke_credentials.of_user) AND ((revoke_credentials.spared_device IS NULL) OR ((p.device_id)::text <> revoke_credentials.spared_device)))
           RETURNING p.device_id
         ), changed AS (
          UPDATE public.users u SET version = (u.version + 1), updated_at = now()
           WHERE ((u.user_id)::text = revoke_credentials.of_user)
         ), facts AS (
          SELECT public.record_event(revoke_credentials.of_user, revoke_credentials.of_app, 'unlink'::text, revoke_credentials.by_actor, NULL::text, NULL::text, revoke_credentials.from_address, revoke_credentials.from_agent, jsonb_build_object('provider', g.provider)) AS record_event
            FROM gone g
           WHERE (g.provider <> 'anonymous'::text)
         UNION ALL
          SELECT public.record_event(revoke_credentials.of_user, revoke_credentials.of_app, 'device_remove'::text, revoke_credentials.by_actor, NULL::text, (p.device_id)::text, revoke_credentials.from_address, revoke_credentials.from_agent) AS record_event
            FROM places p
         )
  SELECT (count(*) >= 0)
    FROM facts;
END;


--
-- Name: revoke_guest_credentials(text, text, text, inet, text, text, text); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.revoke_guest_credentials(of_user text, of_app text, by_actor text, from_address inet, from_agent text, spared_session text DEFAULT NULL::text, spared_device text DEFAULT NULL::text) RETURNS void
    LANGUAGE sql
    BEGIN ATOMIC
 SELECT public.revoke_credentials(of_user, of_app, by_actor, from_address, from_agent, spared_device) AS revoke_credentials,
     ( SELECT count(*) AS count
            FROM public.end_sessions(revoke_guest_credentials.of_user, 'link'::text, revoke_guest_credentials.by_actor, revoke_guest_credentials.from_address, revoke_guest_credentials.from_agent, NULL::text, revoke_guest_credentials.spared_session) end_sessions(end_sessions)) AS count
   WHERE (NOT (EXISTS ( SELECT
            FROM public.identities i
           WHERE (((i.user_id)::text = revoke_guest_credentials.of_user) AND (i.provider <> ALL (ARRAY['anonymous'::text, 'api-key'::text]))))));
END;


--
-- Name: app_hosts; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.app_hosts (
    host text NOT NULL COLLATE pg_catalog."C",
    app_id public.object_id NOT NULL,
    CONSTRAINT app_hosts_host_check CHECK ((host = lower(host)))
);


--
-- Name: apps; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.apps (
    app_id public.object_id NOT NULL,
    name text NOT NULL COLLATE pg_catalog."C",
    settings jsonb DEFAULT '{}'::jsonb NOT NULL,
    version bigint DEFAULT 1 NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    updated_at timestamp with time zone DEFAULT now() NOT NULL,
    document_history integer GENERATED ALWAYS AS (COALESCE(((settings ->> 'document_history'::text))::integer, 0)) STORED NOT NULL,
    anonymous_days integer GENERATED ALWAYS AS (COALESCE(((settings ->> 'anonymous_days'::text))::integer, 30)) STORED NOT NULL,
    CONSTRAINT apps_name_check CHECK ((name ~ '^[a-z0-9][a-z0-9-]{0,62}$'::text)),
    CONSTRAINT apps_settings_check CHECK ((jsonb_typeof(settings) = 'object'::text))
);


--
-- Name: app_records; Type: VIEW; Schema: public; Owner: -
--

CREATE VIEW public.app_records AS
 SELECT a.app_id AS id,
    a.name,
    a.settings,
    COALESCE(( SELECT string_agg(h.host, ' '::text ORDER BY h.host) AS string_agg
           FROM public.app_hosts h
          WHERE ((h.app_id)::text = (a.app_id)::text)), ''::text) AS hosts,
    a.version,
    a.created_at,
    a.updated_at
   FROM public.apps a;


--
-- Name: attempts; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.attempts (
    app_id public.object_id NOT NULL,
    subject bytea NOT NULL,
    clear_at timestamp with time zone NOT NULL
);


--
-- Name: audit; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.audit (
    user_id public.object_id NOT NULL,
    event_id public.object_id NOT NULL,
    app_id public.object_id NOT NULL,
    at timestamp with time zone DEFAULT now() NOT NULL,
    action text NOT NULL COLLATE pg_catalog."C",
    actor text NOT NULL COLLATE pg_catalog."C",
    session_id public.object_id,
    device_id public.object_id,
    address inet,
    agent text,
    detail jsonb DEFAULT '{}'::jsonb NOT NULL
);


--
-- Name: audit_entries; Type: VIEW; Schema: public; Owner: -
--

CREATE VIEW public.audit_entries AS
 SELECT a.event_id AS id,
    a.at,
    a.action,
    a.actor,
    NULLIF((a.user_id)::text, (a.app_id)::text) AS user_id,
    a.session_id,
    a.device_id,
    host(a.address) AS address,
    a.agent,
    a.detail,
    p.name AS app,
    a.user_id AS subject_id,
    a.app_id
   FROM (public.audit a
     LEFT JOIN public.apps p ON (((p.app_id)::text = (a.app_id)::text)));


--
-- Name: beginnings; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.beginnings (
    user_id public.object_id NOT NULL,
    kind text NOT NULL COLLATE pg_catalog."C",
    CONSTRAINT beginnings_kind_check CHECK ((kind = ANY (ARRAY['anonymous'::text, 'registered'::text])))
);


--
-- Name: clients; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.clients (
    client_id public.object_id NOT NULL,
    app_id public.object_id,
    name text NOT NULL,
    scope text NOT NULL COLLATE pg_catalog."C",
    key_hash bytea NOT NULL,
    disabled_at timestamp with time zone,
    created_at timestamp with time zone DEFAULT now() NOT NULL
);


--
-- Name: document_schemas; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.document_schemas (
    app_id public.object_id NOT NULL,
    class text NOT NULL COLLATE pg_catalog."C",
    schema_id public.object_id NOT NULL,
    body json NOT NULL,
    updated_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT document_schemas_body_check CHECK ((octet_length((body)::text) <= 65536)),
    CONSTRAINT document_schemas_class_check CHECK ((class = ANY (ARRAY['metadata'::text, 'app_metadata'::text, 'custom_data'::text])))
);


--
-- Name: hosts; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.hosts (
    name text NOT NULL COLLATE pg_catalog."C",
    version text NOT NULL,
    master_key text NOT NULL,
    settings jsonb NOT NULL,
    seen_at timestamp with time zone NOT NULL,
    CONSTRAINT hosts_name_check CHECK ((name <> ''::text))
);


--
-- Name: imports; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.imports (
    app_id public.object_id NOT NULL,
    source text NOT NULL COLLATE pg_catalog."C",
    import_id public.object_id NOT NULL,
    lines bigint DEFAULT 0 NOT NULL,
    bytes bigint DEFAULT 0 NOT NULL,
    digest bytea DEFAULT '\x'::bytea NOT NULL,
    created bigint DEFAULT 0 NOT NULL,
    updated bigint DEFAULT 0 NOT NULL,
    skipped bigint DEFAULT 0 NOT NULL,
    failed bigint DEFAULT 0 NOT NULL,
    results_before bigint DEFAULT 0 NOT NULL,
    results text DEFAULT ''::text NOT NULL,
    started_at timestamp with time zone DEFAULT now() NOT NULL,
    changed_at timestamp with time zone DEFAULT now() NOT NULL,
    finished_at timestamp with time zone
);


--
-- Name: issuers; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.issuers (
    app_id public.object_id NOT NULL,
    name text NOT NULL COLLATE pg_catalog."C",
    issuer text NOT NULL,
    audience text NOT NULL,
    jwks_url text,
    jwks jsonb,
    secret bytea,
    claims jsonb DEFAULT '{}'::jsonb NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    allows_missing_iss boolean DEFAULT false NOT NULL,
    allows_missing_aud boolean DEFAULT false NOT NULL,
    CONSTRAINT issuers_claims_check CHECK ((jsonb_typeof(claims) = 'object'::text)),
    CONSTRAINT issuers_keys CHECK ((num_nonnulls(jwks_url, jwks, secret) = 1)),
    CONSTRAINT issuers_name_check CHECK ((name ~ '^[a-z0-9][a-z0-9-]{0,62}$'::text))
);


--
-- Name: kept_answers; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.kept_answers (
    app_id public.object_id NOT NULL,
    owner public.object_id NOT NULL,
    user_id public.object_id,
    key_hash bytea NOT NULL,
    request_hash bytea NOT NULL,
    answer bytea,
    expires_at timestamp with time zone NOT NULL
);


--
-- Name: live_sessions; Type: VIEW; Schema: public; Owner: -
--

CREATE VIEW public.live_sessions AS
 SELECT sessions.session_id AS id,
    sessions.device_id,
    sessions.provider,
    host(sessions.address) AS address,
    sessions.agent,
    sessions.created_at,
    sessions.refreshed_at,
    sessions.expires_at,
    sessions.user_id
   FROM public.sessions
  WHERE ((sessions.ended_at IS NULL) AND (sessions.expires_at > now()));


--
-- Name: mail_tokens; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.mail_tokens (
    user_id public.object_id NOT NULL,
    purpose text NOT NULL COLLATE pg_catalog."C",
    token_hash bytea NOT NULL,
    email text NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    CONSTRAINT mail_tokens_purpose_check CHECK ((purpose = ANY (ARRAY['verify'::text, 'reset'::text, 'restore'::text])))
);


--
-- Name: mails; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.mails (
    mail_id public.object_id NOT NULL,
    app_id public.object_id NOT NULL,
    kind text NOT NULL COLLATE pg_catalog."C",
    sealed bytea NOT NULL,
    user_id public.object_id,
    token_hash bytea,
    attempts integer DEFAULT 0 NOT NULL,
    next_attempt_at timestamp with time zone DEFAULT now(),
    last_error text,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    CONSTRAINT mails_kind_check CHECK ((kind = ANY (ARRAY['request'::text, 'verify'::text, 'reset'::text, 'restore'::text, 'change'::text, 'taken'::text, 'code'::text])))
);


--
-- Name: master_keys; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.master_keys (
    check_value bytea NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT master_keys_check_value_check CHECK ((octet_length(check_value) = 32))
);


--
-- Name: search_indexes; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.search_indexes (
    app_id public.object_id NOT NULL,
    index_id public.object_id NOT NULL,
    class text NOT NULL COLLATE pg_catalog."C",
    path text[] NOT NULL,
    kind text NOT NULL COLLATE pg_catalog."C",
    state text DEFAULT 'building'::text NOT NULL COLLATE pg_catalog."C",
    visible_from xid8,
    built_to text DEFAULT ''::text NOT NULL COLLATE pg_catalog."C",
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT search_indexes_class_check CHECK ((class = ANY (ARRAY['metadata'::text, 'app_metadata'::text, 'custom_data'::text]))),
    CONSTRAINT search_indexes_kind_check CHECK ((kind = ANY (ARRAY['text'::text, 'number'::text, 'boolean'::text]))),
    CONSTRAINT search_indexes_path_check CHECK ((cardinality(path) > 0)),
    CONSTRAINT search_indexes_state_check CHECK ((state = ANY (ARRAY['building'::text, 'ready'::text, 'removing'::text])))
);


--
-- Name: search_index_records; Type: VIEW; Schema: public; Owner: -
--

CREATE VIEW public.search_index_records AS
 SELECT search_indexes.index_id AS id,
    search_indexes.class,
    to_json(search_indexes.path) AS path,
    search_indexes.kind,
    search_indexes.state,
    search_indexes.created_at,
    search_indexes.app_id
   FROM public.search_indexes;


--
-- Name: search_values; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.search_values (
    user_id public.object_id NOT NULL,
    index_id public.object_id NOT NULL,
    text_value text COLLATE pg_catalog."C",
    number_value numeric,
    boolean_value boolean
);


--
-- Name: signing_keys; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.signing_keys (
    app_id public.object_id NOT NULL,
    key_id text NOT NULL COLLATE pg_catalog."C",
    purpose text NOT NULL COLLATE pg_catalog."C",
    algorithm text NOT NULL COLLATE pg_catalog."C",
    public_key bytea NOT NULL,
    private_key bytea NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    retires_at timestamp with time zone
);


--
-- Name: api_keys api_keys_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.api_keys
    ADD CONSTRAINT api_keys_pkey PRIMARY KEY (user_id, key_id);


--
-- Name: app_hosts app_hosts_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.app_hosts
    ADD CONSTRAINT app_hosts_pkey PRIMARY KEY (host);


--
-- Name: apps apps_name_key; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.apps
    ADD CONSTRAINT apps_name_key UNIQUE (name);


--
-- Name: apps apps_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.apps
    ADD CONSTRAINT apps_pkey PRIMARY KEY (app_id);


--
-- Name: attempts attempts_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.attempts
    ADD CONSTRAINT attempts_pkey PRIMARY KEY (app_id, subject);


--
-- Name: audit audit_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.audit
    ADD CONSTRAINT audit_pkey PRIMARY KEY (user_id, event_id);


--
-- Name: authentication_flows authentication_flows_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.authentication_flows
    ADD CONSTRAINT authentication_flows_pkey PRIMARY KEY (app_id, flow_id);


--
-- Name: beginnings beginnings_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.beginnings
    ADD CONSTRAINT beginnings_pkey PRIMARY KEY (user_id, kind);


--
-- Name: clients clients_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.clients
    ADD CONSTRAINT clients_pkey PRIMARY KEY (client_id);


--
-- Name: device_users device_users_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.device_users
    ADD CONSTRAINT device_users_pkey PRIMARY KEY (user_id, device_id);


--
-- Name: devices devices_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.devices
    ADD CONSTRAINT devices_pkey PRIMARY KEY (device_id);


--
-- Name: document_schemas document_schemas_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.document_schemas
    ADD CONSTRAINT document_schemas_pkey PRIMARY KEY (app_id, class);


--
-- Name: document_versions document_versions_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.document_versions
    ADD CONSTRAINT document_versions_pkey PRIMARY KEY (user_id, class, version);


--
-- Name: documents documents_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.documents
    ADD CONSTRAINT documents_pkey PRIMARY KEY (user_id, class);


--
-- Name: hosts hosts_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.hosts
    ADD CONSTRAINT hosts_pkey PRIMARY KEY (name);


--
-- Name: identities identities_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.identities
    ADD CONSTRAINT identities_pkey PRIMARY KEY (user_id, identity_id);


--
-- Name: identity_subjects identity_subjects_taken; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.identity_subjects
    ADD CONSTRAINT identity_subjects_taken PRIMARY KEY (app_id, provider, subject);


--
-- Name: imports imports_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.imports
    ADD CONSTRAINT imports_pkey PRIMARY KEY (app_id, source);


--
-- Name: issuers issuers_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.issuers
    ADD CONSTRAINT issuers_pkey PRIMARY KEY (app_id, name);


--
-- Name: kept_answers kept_answers_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.kept_answers
    ADD CONSTRAINT kept_answers_pkey PRIMARY KEY (app_id, owner, key_hash);


--
-- Name: mail_tokens mail_tokens_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.mail_tokens
    ADD CONSTRAINT mail_tokens_pkey PRIMARY KEY (user_id, purpose, token_hash);


--
-- Name: mails mails_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.mails
    ADD CONSTRAINT mails_pkey PRIMARY KEY (mail_id);


--
-- Name: master_keys master_keys_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.master_keys
    ADD CONSTRAINT master_keys_pkey PRIMARY KEY (check_value);


--
-- Name: passwords passwords_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.passwords
    ADD CONSTRAINT passwords_pkey PRIMARY KEY (user_id);


--
-- Name: pictures pictures_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.pictures
    ADD CONSTRAINT pictures_pkey PRIMARY KEY (user_id, name);


--
-- Name: properties properties_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.properties
    ADD CONSTRAINT properties_pkey PRIMARY KEY (user_id, key);


--
-- Name: recovery_codes recovery_codes_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.recovery_codes
    ADD CONSTRAINT recovery_codes_pkey PRIMARY KEY (user_id, code_hash);


--
-- Name: search_indexes search_indexes_path; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.search_indexes
    ADD CONSTRAINT search_indexes_path UNIQUE (app_id, class, path);


--
-- Name: search_indexes search_indexes_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.search_indexes
    ADD CONSTRAINT search_indexes_pkey PRIMARY KEY (app_id, index_id);


--
-- Name: search_values search_values_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.search_values
    ADD CONSTRAINT search_values_pkey PRIMARY KEY (user_id, index_id);


--
-- Name: second_factors second_factors_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.second_factors
    ADD CONSTRAINT second_factors_pkey PRIMARY KEY (user_id, factor_id);


--
-- Name: sessions sessions_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.sessions
    ADD CONSTRAINT sessions_pkey PRIMARY KEY (user_id, session_id);


--
-- Name: signing_keys signing_keys_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.signing_keys
    ADD CONSTRAINT signing_keys_pkey PRIMARY KEY (app_id, key_id);


--
-- Name: users users_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.users
    ADD CONSTRAINT users_pkey PRIMARY KEY (user_id);


--
-- Name: app_hosts_by_app; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX app_hosts_by_app ON public.app_hosts USING btree (app_id);


--
-- Name: attempts_by_time; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX attempts_by_time ON public.attempts USING btree (clear_at);


--
-- Name: audit_by_app; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX audit_by_app ON public.audit USING btree (app_id, event_id);


--
-- Name: audit_own_changes; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX audit_own_changes ON public.audit USING btree (app_id, event_id) WHERE ((action = 'data_change'::text) AND (actor = 'user'::text));


--
-- Name: authentication_flows_by_address; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX authentication_flows_by_address ON public.authentication_flows USING btree (app_id, email_key) WHERE (email_key IS NOT NULL);


--
-- Name: authentication_flows_by_time; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX authentication_flows_by_time ON public.authentication_flows USING btree (expires_at);


--
-- Name: authentication_flows_by_user; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX authentication_flows_by_user ON public.authentication_flows USING btree (user_id) WHERE (user_id IS NOT NULL);


--
-- Name: clients_by_app; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX clients_by_app ON public.clients USING btree (app_id);


--
-- Name: device_users_by_device; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX device_users_by_device ON public.device_users USING btree (device_id, chosen_at DESC);


--
-- Name: document_versions_by_kept; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX document_versions_by_kept ON public.document_versions USING btree (app_id, kept);


--
-- Name: identity_subjects_by_user; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX identity_subjects_by_user ON public.identity_subjects USING btree (user_id, identity_id);


--
-- Name: identity_subjects_reserved; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX identity_subjects_reserved ON public.identity_subjects USING btree (reserved_until) WHERE (reserved_until IS NOT NULL);


--
-- Name: imports_by_time; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX imports_by_time ON public.imports USING btree (changed_at);


--
-- Name: issuers_missing_aud; Type: INDEX; Schema: public; Owner: -
--

CREATE UNIQUE INDEX issuers_missing_aud ON public.issuers USING btree (app_id, issuer) WHERE allows_missing_aud;


--
-- Name: issuers_missing_iss; Type: INDEX; Schema: public; Owner: -
--

CREATE UNIQUE INDEX issuers_missing_iss ON public.issuers USING btree (app_id) WHERE allows_missing_iss;


--
-- Name: kept_answers_by_time; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX kept_answers_by_time ON public.kept_answers USING btree (expires_at);


--
-- Name: kept_answers_by_user; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX kept_answers_by_user ON public.kept_answers USING btree (user_id) WHERE (user_id IS NOT NULL);


--
-- Name: mail_tokens_by_time; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX mail_tokens_by_time ON public.mail_tokens USING btree (expires_at);


--
-- Name: mails_by_app; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX mails_by_app ON public.mails USING btree (app_id);


--
-- Name: mails_by_end; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX mails_by_end ON public.mails USING btree (expires_at);


--
-- Name: mails_by_turn; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX mails_by_turn ON public.mails USING btree (next_attempt_at) WHERE (next_attempt_at IS NOT NULL);


--
-- Name: search_values_boolean; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX search_values_boolean ON public.search_values USING btree (index_id, boolean_value, user_id) WHERE (boolean_value IS NOT NULL);


--
-- Name: search_values_number; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX search_values_number ON public.search_values USING btree (index_id, number_value, user_id) WHERE (number_value IS NOT NULL);


--
-- Name: search_values_other; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX search_values_other ON public.search_values USING btree (index_id, user_id) WHERE ((text_value IS NULL) AND (number_value IS NULL) AND (boolean_value IS NULL));


--
-- Name: search_values_text; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX search_values_text ON public.search_values USING btree (index_id, text_value, user_id) WHERE (text_value IS NOT NULL);


--
-- Name: sessions_by_device; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX sessions_by_device ON public.sessions USING btree (device_id) WHERE (ended_at IS NULL);


--
-- Name: sessions_by_time; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX sessions_by_time ON public.sessions USING btree (LEAST(ended_at, expires_at));


--
-- Name: sessions_live; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX sessions_live ON public.sessions USING btree (user_id, session_id) WHERE (ended_at IS NULL);


--
-- Name: signing_keys_current; Type: INDEX; Schema: public; Owner: -
--

CREATE UNIQUE INDEX signing_keys_current ON public.signing_keys USING btree (app_id, purpose) WHERE (retires_at IS NULL);


--
-- Name: users_anonymous; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX users_anonymous ON public.users USING btree (app_id, user_id) WHERE anonymous;


--
-- Name: users_by_app; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX users_by_app ON public.users USING btree (app_id, user_id);


--
-- Name: users_by_created_at; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX users_by_created_at ON public.users USING btree (app_id, created_at, user_id);


--
-- Name: users_by_email; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX users_by_email ON public.users USING btree (app_id, public.email_key(email) COLLATE "C", user_id) WHERE (email IS NOT NULL);


--
-- Name: users_by_family_name; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX users_by_family_name ON public.users USING btree (app_id, family_name COLLATE "C", user_id) WHERE (family_name IS NOT NULL);


--
-- Name: users_by_given_name; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX users_by_given_name ON public.users USING btree (app_id, given_name COLLATE "C", user_id) WHERE (given_name IS NOT NULL);


--
-- Name: users_by_name; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX users_by_name ON public.users USING btree (app_id, name COLLATE "C", user_id) WHERE (name IS NOT NULL);


--
-- Name: users_by_nickname; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX users_by_nickname ON public.users USING btree (app_id, nickname COLLATE "C", user_id) WHERE (nickname IS NOT NULL);


--
-- Name: users_by_phone; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX users_by_phone ON public.users USING btree (app_id, phone COLLATE "C", user_id) WHERE (phone IS NOT NULL);


--
-- Name: search_values_common; Type: STATISTICS; Schema: public; Owner: -
--

CREATE STATISTICS public.search_values_common (mcv) ON index_id, text_value, boolean_value FROM public.search_values;


--
-- Name: api_keys api_keys_user_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.api_keys
    ADD CONSTRAINT api_keys_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.users(user_id) ON DELETE CASCADE;


--
-- Name: app_hosts app_hosts_app_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.app_hosts
    ADD CONSTRAINT app_hosts_app_id_fkey FOREIGN KEY (app_id) REFERENCES public.apps(app_id) ON DELETE CASCADE;


--
-- Name: authentication_flows authentication_flows_app_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.authentication_flows
    ADD CONSTRAINT authentication_flows_app_id_fkey FOREIGN KEY (app_id) REFERENCES public.apps(app_id) ON DELETE CASCADE;


--
-- Name: authentication_flows authentication_flows_user_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.authentication_flows
    ADD CONSTRAINT authentication_flows_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.users(user_id) ON DELETE CASCADE;


--
-- Name: beginnings beginnings_user_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.beginnings
    ADD CONSTRAINT beginnings_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.users(user_id) ON DELETE CASCADE;


--
-- Name: clients clients_app_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.clients
    ADD CONSTRAINT clients_app_id_fkey FOREIGN KEY (app_id) REFERENCES public.apps(app_id) ON DELETE CASCADE;


--
-- Name: device_users device_users_user_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.device_users
    ADD CONSTRAINT device_users_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.users(user_id) ON DELETE CASCADE;


--
-- Name: document_schemas document_schemas_app_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.document_schemas
    ADD CONSTRAINT document_schemas_app_id_fkey FOREIGN KEY (app_id) REFERENCES public.apps(app_id) ON DELETE CASCADE;


--
-- Name: document_versions document_versions_user_id_class_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.document_versions
    ADD CONSTRAINT document_versions_user_id_class_fkey FOREIGN KEY (user_id, class) REFERENCES public.documents(user_id, class) ON DELETE CASCADE;


--
-- Name: documents documents_user_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.documents
    ADD CONSTRAINT documents_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.users(user_id) ON DELETE CASCADE;


--
-- Name: identities identities_user_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.identities
    ADD CONSTRAINT identities_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.users(user_id) ON DELETE CASCADE;


--
-- Name: issuers issuers_app_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.issuers
    ADD CONSTRAINT issuers_app_id_fkey FOREIGN KEY (app_id) REFERENCES public.apps(app_id) ON DELETE CASCADE;


--
-- Name: kept_answers kept_answers_user_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.kept_answers
    ADD CONSTRAINT kept_answers_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.users(user_id) ON DELETE CASCADE;


--
-- Name: mail_tokens mail_tokens_user_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.mail_tokens
    ADD CONSTRAINT mail_tokens_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.users(user_id) ON DELETE CASCADE;


--
-- Name: mails mails_app_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.mails
    ADD CONSTRAINT mails_app_id_fkey FOREIGN KEY (app_id) REFERENCES public.apps(app_id) ON DELETE CASCADE;


--
-- Name: passwords passwords_user_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.passwords
    ADD CONSTRAINT passwords_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.users(user_id) ON DELETE CASCADE;


--
-- Name: pictures pictures_user_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.pictures
    ADD CONSTRAINT pictures_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.users(user_id) ON DELETE CASCADE;


--
-- Name: properties properties_user_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.properties
    ADD CONSTRAINT properties_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.users(user_id) ON DELETE CASCADE;


--
-- Name: recovery_codes recovery_codes_user_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.recovery_codes
    ADD CONSTRAINT recovery_codes_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.users(user_id) ON DELETE CASCADE;


--
-- Name: search_values search_values_user_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.search_values
    ADD CONSTRAINT search_values_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.users(user_id) ON DELETE CASCADE;


--
-- Name: second_factors second_factors_user_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.second_factors
    ADD CONSTRAINT second_factors_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.users(user_id) ON DELETE CASCADE;


--
-- Name: sessions sessions_user_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.sessions
    ADD CONSTRAINT sessions_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.users(user_id) ON DELETE CASCADE;


--
-- Name: signing_keys signing_keys_app_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.signing_keys
    ADD CONSTRAINT signing_keys_app_id_fkey FOREIGN KEY (app_id) REFERENCES public.apps(app_id) ON DELETE CASCADE;


--
-- PostgreSQL database dump complete
--
