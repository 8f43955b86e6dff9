-- Documents: one JSON object of each kind for a user, their schemas, and earlier versions.

-- migrate: up

create table documents (
  user_id text collate "C" not null references users on delete cascade,
  kind text collate "C" not null check (kind in ('metadata', 'app_metadata', 'custom_data')),
  body jsonb not null check (jsonb_typeof(body) = 'object'),
  version bigint not null,
  deleted_at timestamptz,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  size integer not null generated always as (octet_length(body::text)) stored,
  primary key (user_id, kind),
  constraint documents_size check (
    size <= case kind when 'custom_data' then 1048576 else 65536 end)
);

comment on table documents is 'Documents of users.';
comment on column documents.kind is
  'metadata: the user writes it. app_metadata: only back ends write it. custom_data: the user or back ends write it.';
comment on column documents.version is
  'Grows by one with each change, a deletion included, so no version names two bodies.';
comment on column documents.deleted_at is
  'When the document was deleted. The row remains for its version.';
comment on column documents.size is
  'The bytes of the body as text. Statements read it before they print a body, which takes tens of milliseconds for a large one.';

create function merge_patch(target jsonb, patch jsonb) returns jsonb
language plpgsql immutable parallel safe as $$
begin
  if jsonb_typeof(patch) <> 'object' then
    return patch;
  end if;
  return (
    select coalesce(jsonb_object_agg(coalesce(p.key, t.key), case
      when p.key is null then t.value
      when jsonb_typeof(p.value) = 'object' then merge_patch(t.value, p.value)
      else p.value end), '{}')
    from jsonb_each(case when jsonb_typeof(target) = 'object' then target else '{}' end) t
    full join jsonb_each(patch) p on p.key = t.key
    where p.key is null or jsonb_typeof(p.value) <> 'null'
  );
end
$$;

comment on function merge_patch(jsonb, jsonb) is
  'Returns a document after a merge patch (RFC 7396), in one pass over its members. The recursion is as deep as the patch, which the server limits.';

create table document_schemas (
  app_id text collate "C" not null references apps on delete cascade,
  kind text collate "C" not null check (kind in ('metadata', 'app_metadata', 'custom_data')),
  schema_id text collate "C" not null check (schema_id ~ '^[0-9a-f]{24}$'),
  body json not null check (octet_length(body::text) <= 65536),
  updated_at timestamptz not null default now(),
  primary key (app_id, kind)
);

comment on table document_schemas is 'JSON Schemas that an app''s documents must satisfy.';
comment on column document_schemas.schema_id is
  'Changes with each change of the body. Workers then compile the schema again.';
comment on column document_schemas.body is 'The schema as the operator wrote it.';

create table document_versions (
  user_id text collate "C" not null,
  kind text collate "C" not null,
  version bigint not null,
  app_id text collate "C" not null,
  body jsonb,
  actor text collate "C" not null,
  changed_at timestamptz not null default now(),
  kept integer not null,
  primary key (user_id, kind, version),
  -- Not to users: a statement that stores a version has locked the document, and not the user.
  foreign key (user_id, kind) references documents on delete cascade
);

-- Maintenance looks for versions stored when the app kept more of them.
create index document_versions_by_kept on document_versions (app_id, kept);

comment on table document_versions is
  'Versions of documents, the present one included, in apps with the setting document_versions_kept.';
comment on column document_versions.body is 'Null if this version is a deletion.';
comment on column document_versions.actor is 'As in the table audit.';
comment on column document_versions.kept is
  'How many versions the app kept when this one was written, or at the last maintenance.';

-- migrate: down

drop table document_versions;
drop table document_schemas;
drop function merge_patch(jsonb, jsonb);
drop table documents;
