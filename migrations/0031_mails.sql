-- Mail waits in the database until the relay has taken it.

-- migrate: up

create table mails (
  mail_id object_id primary key,
  app_id object_id not null references apps on delete cascade,
  kind text collate "C" not null check (kind in ('confirm', 'reset', 'change', 'taken')),
  -- From whom, to whom, and all that is said: sealed with the master key, as it may let one in.
  sealed bytea not null,
  -- Whose token of `mail_tokens` it carries; without that token nobody needs the mail.
  user_id object_id,
  token_hash bytea,
  attempts integer not null default 0,
  -- Null when it was given up, for the operator to look at.
  next_attempt_at timestamptz default now(),
  -- What the relay said last.
  last_error text,
  created_at timestamptz not null default now(),
  expires_at timestamptz not null
);

create index mails_by_turn on mails (next_attempt_at) where next_attempt_at is not null;
create index mails_by_end on mails (expires_at);
create index mails_by_app on mails (app_id);

-- migrate: down

drop table mails;
