-- Answers to POST requests with an Idempotency-Key.

-- migrate: up

create table idempotency_keys (
  app_id text collate "C" not null,
  owner text collate "C" not null,
  key_hash bytea not null,
  request_hash bytea not null,
  answer bytea,
  expires_at timestamptz not null,
  primary key (owner, app_id, key_hash)
);

create index idempotency_keys_by_time on idempotency_keys (expires_at);

comment on table idempotency_keys is
  'Answers to requests with an Idempotency-Key, which a repeated request gets again.';
comment on column idempotency_keys.app_id is
  'All zeros if a client of the operator calls without an app.';
comment on column idempotency_keys.owner is 'The user or client that sent the request. The answers of a user are deleted with it.';
comment on column idempotency_keys.key_hash is 'A keyed hash of the Idempotency-Key.';
comment on column idempotency_keys.request_hash is
  'A keyed hash of the request. Another request with the same key is refused.';
comment on column idempotency_keys.answer is
  'The answer, encrypted with the master key; null while the first request is under way.';
comment on column idempotency_keys.expires_at is
  'When the answer is deleted. Without an answer: when another request may start, as the worker of the first one must have died.';

-- migrate: down

drop table idempotency_keys;
