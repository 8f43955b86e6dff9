-- Search: the paths that operators declared, and the values that users' documents have there.
--
-- The values are in a table of their own, written by the transaction that writes the document, and
-- not in indexes on documents. An index on `body` makes every write of a document touch every index
-- of the table (no heap-only update). GIN knows no order, so neither `>=` nor `^=`. An index on an
-- expression changes the schema, which the server's role must not do. Here, a write that leaves a
-- value unchanged reads a row, and declaring an index inserts a row.

-- migrate: up

create table search_indexes (
  app_id text collate "C" not null,
  index_id text collate "C" not null check (index_id ~ '^[0-9a-f]{24}$'),
  document_kind text collate "C" not null
    check (document_kind in ('metadata', 'app_metadata', 'custom_data')),
  path text[] not null check (cardinality(path) > 0),
  kind text collate "C" not null check (kind in ('text', 'number', 'boolean')),
  state text collate "C" not null default 'building'
    check (state in ('building', 'ready', 'removing')),
  visible_since timestamptz,
  built_to text collate "C" not null default '',
  created_at timestamptz not null default now(),
  primary key (app_id, index_id),
  constraint search_indexes_path unique (app_id, document_kind, path)
);

comment on table search_indexes is 'Paths of documents that an app can search by.';
comment on column search_indexes.path is 'Names of members, from the root of the document.';
comment on column search_indexes.state is
  'Writers maintain an index in the states building and ready; searches use a ready one.';
comment on column search_indexes.visible_since is
  'Transactions that begin later see the state; null until that is known. Older ones must have ended before work on the values begins.';
comment on column search_indexes.built_to is
  'The last user whose documents are indexed, while the state is building.';

create table search_values (
  user_id text collate "C" not null references users on delete cascade,
  index_id text collate "C" not null,
  text_value text collate "C",
  number_value numeric,
  boolean_value boolean,
  primary key (user_id, index_id)
);

create index search_values_text on search_values (index_id, text_value, user_id)
  where text_value is not null;
create index search_values_number on search_values (index_id, number_value, user_id)
  where number_value is not null;
create index search_values_boolean on search_values (index_id, boolean_value, user_id)
  where boolean_value is not null;
create index search_values_other on search_values (index_id, user_id)
  where text_value is null and number_value is null and boolean_value is null;

-- A value that is common under one index may be rare under another.
create statistics search_values_common (mcv) on index_id, text_value, boolean_value
  from search_values;

comment on table search_values is
  'The value of each user at each search index, unless it is null or missing. A value of another kind than the index''s, and a list inside the path, has a row without a value.';
comment on column search_values.text_value is
  'The first 256 characters. Filters have at most 255, so all comparisons are exact.';

create view search_index_records as
  select index_id as id, document_kind, to_json(path) as path, kind, state, created_at, app_id
  from search_indexes;

comment on view search_index_records is 'Search indexes as the API shows them.';

-- migrate: down

drop view search_index_records;
drop table search_values;
drop table search_indexes;
