-- The properties of a user: small values by key. Whoever changes them locks the user, so that
-- there are never more than 100.

-- migrate: up

create table properties (
  user_id object_id not null references users on delete cascade,
  key text collate "C" not null
    constraint properties_key check (char_length(key) between 1 and 128),
  -- A JSON string, boolean or number as the client spelled it.
  value text not null,
  version bigint not null,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  primary key (user_id, key),
  constraint properties_value check (
    case jsonb_typeof(value::jsonb) when 'string' then char_length(value::jsonb #>> '{}') <= 1024
      else jsonb_typeof(value::jsonb) in ('boolean', 'number') end)
);

-- migrate: down

drop table properties;
