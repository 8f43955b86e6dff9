-- The outbox of mail.

-- migrate: up

create table mail_outbox (
  mail_id text collate "C" primary key check (mail_id ~ '^[0-9a-f]{24}$'),
  app_id text collate "C" not null references apps on delete cascade,
  kind text collate "C" not null check (
    kind in (
      'request', 'verify', 'reset', 'restore', 'change', 'taken', 'unknown', 'code', 'logout')),
  sealed bytea not null,
  user_id text collate "C",
  token_hash bytea,
  attempts integer not null default 0,
  next_attempt_at timestamptz default now(),
  last_error text,
  created_at timestamptz not null default now(),
  expires_at timestamptz not null
);

create index mail_outbox_by_turn on mail_outbox (next_attempt_at) where next_attempt_at is not null;
create index mail_outbox_by_end on mail_outbox (expires_at);
create index mail_outbox_by_app on mail_outbox (app_id);

comment on table mail_outbox is
  'The outbox: mail that the relay has not accepted yet, and other messages to deliver.';
comment on column mail_outbox.kind is
  'The purpose of the mail. request: its recipient is not looked up yet. logout: a message to a client of OpenID Connect.';
comment on column mail_outbox.sealed is
  'Sender, recipient and text, encrypted with the master key, as the mail may contain a token.';
comment on column mail_outbox.user_id is
  'The user whose token in mail_tokens the mail contains; without the token it is not sent.';
comment on column mail_outbox.token_hash is 'The hash of that token.';
comment on column mail_outbox.attempts is 'How many times the relay was tried.';
comment on column mail_outbox.next_attempt_at is
  'When to try again. Null if delivery was given up; the row remains for the operator.';
comment on column mail_outbox.last_error is 'The last answer of the relay.';

-- migrate: down

drop table mail_outbox;
