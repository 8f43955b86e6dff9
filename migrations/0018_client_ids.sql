-- Clients keep the ids and the secrets that they had at another server.

-- migrate: up

alter table clients drop constraint clients_client_id_check;
alter table clients add constraint clients_client_id_check
  check (client_id ~ '^[0-9A-Za-z][0-9A-Za-z._~-]{0,63}$');
alter table clients add constraint clients_secret_hash_key unique (secret_hash);

comment on column clients.client_id is
  'The id that tokens have as their audience: 24 hexadecimal digits, or that of another server.';
comment on column clients.secret_hash is
  'A keyed hash of its secret, or of the digest of one from another server. Null for a public client, which has none.';

-- migrate: down

alter table clients drop constraint clients_secret_hash_key;
alter table clients drop constraint clients_client_id_check;
-- Clients with an id of another form stay, and the program before knows none of them.
alter table clients add constraint clients_client_id_check
  check (client_id ~ '^[0-9a-f]{24}$') not valid;

comment on column clients.client_id is null;
comment on column clients.secret_hash is
  'A keyed hash of its secret. Null for a public client, which has none.';
