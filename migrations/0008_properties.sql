-- Properties: small values of a user by key.

-- migrate: up

create table properties (
  user_id text collate "C" not null references users on delete cascade,
  key text collate "C" not null
    constraint properties_key check (char_length(key) between 1 and 128),
  value text not null,
  version bigint not null,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  primary key (user_id, key),
  constraint properties_value check (
    case jsonb_typeof(value::jsonb) when 'string' then octet_length(value::jsonb #>> '{}') <= 8192
      else jsonb_typeof(value::jsonb) in ('boolean', 'number') end)
);

comment on table properties is
  'Properties of users. A writer locks the user, so a user never has more than 100.';
comment on column properties.value is
  'A JSON string, boolean or number as the client wrote it.';
comment on column properties.version is
  'Grows by one with each change; see users.property_version_floor.';

-- migrate: down

drop table properties;
