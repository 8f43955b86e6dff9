-- The time of a form is that of its end, once it is handled.

-- migrate: up

comment on column authorizations.claimed_at is
  'When a request began to handle the form, or had handled it. After 30 seconds, another may: the worker has ended.';

-- migrate: down

comment on column authorizations.claimed_at is
  'When a request began to handle the form. After 30 seconds, another may: the worker has ended.';
