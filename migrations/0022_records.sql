-- Attributes of APIs and issuers in one column each.
--
-- The programs declare them, so that a new attribute needs no migration. Keys, names and what statements
-- join stay columns. An attribute is missing if it has its default.

-- migrate: up

alter table resource_servers add column attributes jsonb not null default '{}'
  check (jsonb_typeof(attributes) = 'object');

update resource_servers set attributes = jsonb_strip_nulls(jsonb_build_object(
  'token_seconds', nullif(token_seconds, 86400),
  'allows_offline_access', nullif(allows_offline_access, false),
  'skips_consent', nullif(skips_consent, true),
  'enforce_policies', nullif(enforces_policies, false),
  'token_dialect', nullif(token_dialect, 'access_token'),
  'claims', case when claims::text <> '{}' then claims::jsonb end));

alter table resource_servers
  drop column token_seconds, drop column allows_offline_access, drop column skips_consent,
  drop column enforces_policies, drop column token_dialect, drop column claims;

comment on column resource_servers.attributes is
  'What differs from the defaults, by the names that `dossier resource-server set` takes.';

alter table issuers
  add column version bigint not null default 1,
  add column attributes jsonb not null default '{}' check (jsonb_typeof(attributes) = 'object');

update issuers set attributes = jsonb_strip_nulls(jsonb_build_object(
  'audience', audience, 'jwks_url', jwks_url, 'jwks', jwks,
  'allow_missing_iss', nullif(allows_missing_iss, false),
  'allow_missing_aud', nullif(allows_missing_aud, false),
  'claims', case when claims <> '{}' then claims end));

drop index issuers_missing_iss;

drop index issuers_missing_aud;

alter table issuers
  drop constraint issuers_keys,
  drop column audience, drop column jwks_url, drop column jwks, drop column claims,
  drop column allows_missing_iss, drop column allows_missing_aud;

alter table issuers add constraint issuers_keys check (num_nonnulls(
  attributes ->> 'jwks_url', attributes ->> 'jwks', secret) = 1);

-- A token without iss must belong to one issuer. Of two, either could log in the other's users.
create unique index issuers_missing_iss on issuers (app_id)
  where attributes -> 'allow_missing_iss' = 'true';

-- Likewise for issuers with the same iss and different audiences.
create unique index issuers_missing_aud on issuers (app_id, issuer)
  where attributes -> 'allow_missing_aud' = 'true';

comment on column issuers.version is 'Grows by one with each change.';
comment on column issuers.attributes is
  'What differs from the defaults, by the names that `dossier issuer set` takes. Exactly one of jwks_url, jwks and the secret is set.';

-- migrate: down

drop index issuers_missing_iss;

drop index issuers_missing_aud;

alter table issuers drop constraint issuers_keys;

alter table issuers
  add column audience text, add column jwks_url text, add column jwks jsonb,
  add column claims jsonb not null default '{}' check (jsonb_typeof(claims) = 'object'),
  add column allows_missing_iss boolean not null default false,
  add column allows_missing_aud boolean not null default false;

update issuers set audience = attributes ->> 'audience', jwks_url = attributes ->> 'jwks_url',
  jwks = attributes -> 'jwks', claims = coalesce(attributes -> 'claims', '{}'),
  allows_missing_iss = coalesce((attributes ->> 'allow_missing_iss')::boolean, false),
  allows_missing_aud = coalesce((attributes ->> 'allow_missing_aud')::boolean, false);

alter table issuers
  alter column audience set not null, drop column version, drop column attributes,
  add constraint issuers_keys check (num_nonnulls(jwks_url, jwks, secret) = 1);

create unique index issuers_missing_iss on issuers (app_id) where allows_missing_iss;

create unique index issuers_missing_aud on issuers (app_id, issuer) where allows_missing_aud;

comment on column issuers.audience is 'The aud claim that its tokens must have.';
comment on column issuers.jwks_url is
  'The URL of its key set. Exactly one of jwks_url, jwks and secret is set.';
comment on column issuers.jwks is 'Its key set.';
comment on column issuers.claims is
  'Members of the profile, each with the claim that its value comes from.';
comment on column issuers.allows_missing_iss is 'Whether a token may lack the iss claim.';
comment on column issuers.allows_missing_aud is 'Whether a token may lack the aud claim.';

alter table resource_servers
  add column token_seconds integer not null default 86400
    check (token_seconds between 60 and 2592000),
  add column allows_offline_access boolean not null default false,
  add column skips_consent boolean not null default true,
  add column enforces_policies boolean not null default false,
  add column token_dialect text collate "C" not null default 'access_token'
    check (token_dialect in ('access_token', 'access_token_authz')),
  add column claims json not null default '{}' check (json_typeof(claims) = 'object');

update resource_servers set
  token_seconds = coalesce((attributes ->> 'token_seconds')::integer, 86400),
  allows_offline_access = coalesce((attributes ->> 'allows_offline_access')::boolean, false),
  skips_consent = coalesce((attributes ->> 'skips_consent')::boolean, true),
  enforces_policies = coalesce((attributes ->> 'enforce_policies')::boolean, false),
  token_dialect = coalesce(attributes ->> 'token_dialect', 'access_token'),
  claims = coalesce(attributes -> 'claims', '{}')::json;

alter table resource_servers drop column attributes;

comment on column resource_servers.token_seconds is 'The lifetime of its access tokens.';
comment on column resource_servers.allows_offline_access is
  'Whether clients may get a refresh token for it.';
comment on column resource_servers.skips_consent is
  'Whether first-party clients get its scopes without the consent of the user.';
comment on column resource_servers.enforces_policies is
  'Whether a user gets only the scopes that its permissions contain.';
comment on column resource_servers.token_dialect is
  'access_token_authz adds the claim permissions to its access tokens.';
comment on column resource_servers.claims is
  'Claims of its access tokens, each with the source of its value.';
