-- Answers to POST requests with an Idempotency-Key.

-- migrate: up

create table kept_answers (
  app_id text collate "C" not null,
  owner text collate "C" not null,
  key_hash bytea not null,
  request_hash bytea not null,
  answer bytea,
  expires_at timestamptz not null,
  primary key (owner, app_id, key_hash)
);

create index kept_answers_by_time on kept_answers (expires_at);

comment on table kept_answers is
  'Answers to requests with an Idempotency-Key, which a repeated request gets again.';
comment on column kept_answers.app_id is
  'All zeros if a client of the operator calls without an app.';
comment on column kept_answers.owner is 'The user or client that sent the request. The answers of a user are deleted with it.';
comment on column kept_answers.key_hash is 'A keyed hash of the Idempotency-Key.';
comment on column kept_answers.request_hash is
  'A keyed hash of the request. Another request with the same key is refused.';
comment on column kept_answers.answer is
  'The answer, encrypted with the master key; null while the first request is under way.';
comment on column kept_answers.expires_at is
  'When the answer is deleted. Without an answer: when another request may start, as the worker of the first one must have died.';

-- migrate: down

drop table kept_answers;
