-- Auth0's API shows the connections of an app to clients with a scope of its own.

-- migrate: up

create or replace function management_scopes() returns json
  language sql immutable parallel safe
  return '{
    "read:users": "Read users",
    "create:users": "Create users",
    "update:users": "Change users",
    "delete:users": "Delete users",
    "read:users_app_metadata": "Read app metadata",
    "create:users_app_metadata": "Create app metadata",
    "update:users_app_metadata": "Change app metadata",
    "delete:users_app_metadata": "Delete app metadata",
    "read:logs": "Read logs",
    "read:logs_users": "Read the logs of users",
    "read:sessions": "Read sessions",
    "delete:sessions": "End sessions",
    "read:refresh_tokens": "Read refresh tokens",
    "delete:refresh_tokens": "Revoke refresh tokens",
    "read:roles": "Read roles",
    "create:roles": "Create roles",
    "update:roles": "Change roles",
    "delete:roles": "Delete roles",
    "read:role_members": "Read the users of roles",
    "create:role_members": "Assign roles to users",
    "delete:role_members": "Remove roles from users",
    "create:user_tickets": "Create links that verify addresses and reset passwords",
    "read:clients": "Read clients",
    "create:clients": "Create clients",
    "update:clients": "Change clients",
    "delete:clients": "Delete clients",
    "read:client_keys": "Read clients",
    "update:client_keys": "Replace the secrets of clients",
    "read:connections": "Read connections",
    "read:resource_servers": "Read APIs",
    "create:resource_servers": "Create APIs",
    "update:resource_servers": "Change APIs",
    "delete:resource_servers": "Delete APIs",
    "read:client_grants": "Read grants",
    "create:client_grants": "Create grants",
    "update:client_grants": "Change grants",
    "delete:client_grants": "Delete grants",
    "read:current_user": "Read your profile and metadata",
    "create:current_user_metadata": "Create your metadata",
    "update:current_user_metadata": "Change your metadata",
    "delete:current_user_metadata": "Delete your metadata",
    "update:current_user_identities": "Link and unlink your accounts"
  }'::json;

update resource_servers set scopes = management_scopes() where identifier = 'api/v2/';

-- migrate: down

create or replace function management_scopes() returns json
  language sql immutable parallel safe
  return '{
    "read:users": "Read users",
    "create:users": "Create users",
    "update:users": "Change users",
    "delete:users": "Delete users",
    "read:users_app_metadata": "Read app metadata",
    "create:users_app_metadata": "Create app metadata",
    "update:users_app_metadata": "Change app metadata",
    "delete:users_app_metadata": "Delete app metadata",
    "read:logs": "Read logs",
    "read:logs_users": "Read the logs of users",
    "read:sessions": "Read sessions",
    "delete:sessions": "End sessions",
    "read:refresh_tokens": "Read refresh tokens",
    "delete:refresh_tokens": "Revoke refresh tokens",
    "read:roles": "Read roles",
    "create:roles": "Create roles",
    "update:roles": "Change roles",
    "delete:roles": "Delete roles",
    "read:role_members": "Read the users of roles",
    "create:role_members": "Assign roles to users",
    "delete:role_members": "Remove roles from users",
    "create:user_tickets": "Create links that verify addresses and reset passwords",
    "read:clients": "Read clients",
    "create:clients": "Create clients",
    "update:clients": "Change clients",
    "delete:clients": "Delete clients",
    "read:client_keys": "Read clients",
    "update:client_keys": "Replace the secrets of clients",
    "read:resource_servers": "Read APIs",
    "create:resource_servers": "Create APIs",
    "update:resource_servers": "Change APIs",
    "delete:resource_servers": "Delete APIs",
    "read:client_grants": "Read grants",
    "create:client_grants": "Create grants",
    "update:client_grants": "Change grants",
    "delete:client_grants": "Delete grants",
    "read:current_user": "Read your profile and metadata",
    "create:current_user_metadata": "Create your metadata",
    "update:current_user_metadata": "Change your metadata",
    "delete:current_user_metadata": "Delete your metadata",
    "update:current_user_identities": "Link and unlink your accounts"
  }'::json;

update resource_servers set scopes = management_scopes() where identifier = 'api/v2/';
