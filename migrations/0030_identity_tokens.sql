-- Refresh tokens of services at which users have signed in. They are revoked there when an
-- identity ends: Apple demands it of apps that delete accounts.

-- migrate: up

create table identity_tokens (
  user_id text collate "C" not null,
  identity_id text collate "C" not null,
  client_id text collate "C" not null,
  app_id text collate "C" not null,
  connection text collate "C" not null,
  token_id text collate "C" not null check (token_id ~ '^[0-9a-f]{24}$'),
  sealed bytea not null,
  is_due boolean not null default false,
  primary key (user_id, identity_id, client_id)
);

create index identity_tokens_due on identity_tokens (user_id) where is_due;

do $$ begin
  if to_regclass('pg_dist_partition') is not null then
    if exists (select 1 from pg_dist_partition where logicalrelid = 'users'::regclass) then
      perform create_distributed_table('identity_tokens', 'user_id', colocate_with => 'users');
    end if;
  end if;
end $$;

comment on table identity_tokens is
  'Refresh tokens of services, which are revoked there when an identity ends. The row of a deleted user stays until then.';
comment on column identity_tokens.client_id is
  'The client at the service that has got the token: that of the connection, or of a native app.';
comment on column identity_tokens.connection is 'The name of the connection to the service.';
comment on column identity_tokens.token_id is 'A new id for each token, to which its encryption is bound.';
comment on column identity_tokens.sealed is 'The token, encrypted with the master key.';
comment on column identity_tokens.is_due is 'Whether the identity has ended.';

alter table mail_outbox drop constraint mail_outbox_kind_check;
alter table mail_outbox add constraint mail_outbox_kind_check check (
  kind in (
    'request', 'verify', 'reset', 'restore', 'change', 'taken', 'unknown', 'code', 'logout',
    'revocation'));
comment on column mail_outbox.kind is
  'The purpose of the mail. request: its recipient is not looked up yet. logout: a message to a client of OpenID Connect. revocation: a refresh token to revoke at a service.';

-- migrate: down

delete from mail_outbox where kind = 'revocation';
alter table mail_outbox drop constraint mail_outbox_kind_check;
alter table mail_outbox add constraint mail_outbox_kind_check check (
  kind in (
    'request', 'verify', 'reset', 'restore', 'change', 'taken', 'unknown', 'code', 'logout'));
comment on column mail_outbox.kind is
  'The purpose of the mail. request: its recipient is not looked up yet. logout: a message to a client of OpenID Connect.';
drop table identity_tokens;
