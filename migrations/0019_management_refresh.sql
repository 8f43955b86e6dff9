-- Refresh tokens for the Management API: the apps of Auth0's tutorials request its audience with
-- offline_access. The user is asked for it.

-- migrate: up

update resource_servers set allows_offline_access = true where identifier = 'api/v2/';

-- migrate: down

update resource_servers set allows_offline_access = false where identifier = 'api/v2/';
