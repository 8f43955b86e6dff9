-- What the documents of an app's users must be: a JSON Schema for a class of documents.

-- migrate: up

create table document_schemas (
  app_id object_id not null references apps on delete cascade,
  class text collate "C" not null check (class in ('metadata', 'app_metadata', 'custom_data')),
  -- New with each change: a worker compiles a schema again when this is another.
  schema_id object_id not null,
  -- As the operator wrote it.
  body json not null check (octet_length(body::text) <= 65536),
  updated_at timestamptz not null default now(),
  primary key (app_id, class)
);

-- migrate: down

drop table document_schemas;
