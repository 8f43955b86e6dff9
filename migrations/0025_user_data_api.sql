-- Each app gets the API of its /v1, so that clients need no registration of it.

-- migrate: up

create function user_data_scopes() returns json
  language sql immutable parallel safe
  return '{
    "read:current_user": "See your profile and your data",
    "create:current_user_metadata": "Add data for you",
    "update:current_user_metadata": "Change your profile and your data",
    "delete:current_user_metadata": "Delete your data",
    "update:current_user_identities": "Change how you sign in, and delete your account"
  }'::json;

comment on function user_data_scopes() is
  'Returns the scopes of the API of /v1 that clients can get for users, with their descriptions.';

comment on column resource_servers.identifier is
  'The audience of its tokens, compared by bytes. Relative to the issuer are api/v2/, the Management API, and /, the API of /v1.';

-- An operator may have registered such an identifier, which then stays.
insert into resource_servers (app_id, resource_server_id, identifier, name, scopes, attributes)
select app_id, new_object_id(), '/', 'Your data', user_data_scopes(),
  '{"allows_offline_access": true}'
from apps
on conflict (app_id, identifier) do nothing;

comment on column consents.audience is 'The identifier of the API.';

-- It is the API of requests that name none. A user who has allowed scopes of another API of this name
-- is asked again.
delete from consents where audience = '/';

update consents set audience = '/' where audience = '';

-- migrate: down

-- Programs of the version before may have written some since.
delete from consents where audience = '';

update consents set audience = '' where audience = '/';

update sessions set audience = null where audience = '/';

delete from resource_servers where identifier = '/';

drop function user_data_scopes();

comment on column resource_servers.identifier is
  'The audience of its tokens, compared by bytes. api/v2/ is the Management API; the issuer precedes it in tokens.';

comment on column consents.audience is
  'The identifier of the resource server; empty for the profile alone.';
