-- The outbox of mail.

-- migrate: up

create table mails (
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

create index mails_by_turn on mails (next_attempt_at) where next_attempt_at is not null;
create index mails_by_end on mails (expires_at);
create index mails_by_app on mails (app_id);

comment on table mails is
  'The outbox: mail that the relay has not accepted yet, and other messages to deliver.';
comment on column mails.kind is
  'The purpose of the mail. request: its recipient is not looked up yet. logout: a message to a client of OpenID Connect.';
comment on column mails.sealed is
  'Sender, recipient and text, encrypted with the master key, as the mail may contain a token.';
comment on column mails.user_id is
  'The user whose token in mail_tokens the mail contains; without the token it is not sent.';
comment on column mails.token_hash is 'The hash of that token.';
comment on column mails.attempts is 'How many times the relay was tried.';
comment on column mails.next_attempt_at is
  'When to try again. Null if delivery was given up; the row remains for the operator.';
comment on column mails.last_error is 'The last answer of the relay.';

-- migrate: down

drop table mails;
