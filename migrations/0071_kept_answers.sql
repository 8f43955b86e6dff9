-- What a POST was answered that said by an Idempotency-Key that it may come again.

-- migrate: up

create table kept_answers (
  -- That of zeros where an operator's program asks for no app.
  app_id object_id not null,
  -- Who asked: a user or a program.
  owner object_id not null,
  -- What is kept of a user goes with it.
  user_id object_id references users on delete cascade,
  key_hash bytea not null,
  -- A keyed hash of the request: another one with the same key is refused.
  request_hash bytea not null,
  -- Sealed with the master key; null while the first request is under way.
  answer bytea,
  -- When the answer is forgotten; without one, when another request may begin, as whoever was at work
  -- must have died over it.
  expires_at timestamptz not null,
  primary key (app_id, owner, key_hash)
);

create index kept_answers_by_user on kept_answers (user_id) where user_id is not null;
create index kept_answers_by_time on kept_answers (expires_at);

-- migrate: down

drop table kept_answers;
