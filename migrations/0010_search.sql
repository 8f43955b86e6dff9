-- Search: the paths that operators declared, and the values that users' documents have there.
--
-- The values are in a table of their own, written by the statement that writes the document, and
-- not in indexes on documents. An index on `body` makes every write of a document touch every index
-- of the table (no heap-only update). GIN knows no order, so neither `>=` nor `^=`. An index on an
-- expression changes the schema, which the server's role must not do. Here, a write that leaves a
-- value unchanged reads a row, and declaring an index inserts a row.

-- migrate: up

create table search_indexes (
  app_id text collate "C" not null,
  index_id text collate "C" not null check (index_id ~ '^[0-9a-f]{24}$'),
  class text collate "C" not null check (class in ('metadata', 'app_metadata', 'custom_data')),
  path text[] not null check (cardinality(path) > 0),
  kind text collate "C" not null check (kind in ('text', 'number', 'boolean')),
  state text collate "C" not null default 'building'
    check (state in ('building', 'ready', 'removing')),
  visible_from xid8,
  built_to text collate "C" not null default '',
  created_at timestamptz not null default now(),
  primary key (app_id, index_id),
  constraint search_indexes_path unique (app_id, class, path)
);

comment on table search_indexes is 'Paths of documents that an app can search by.';
comment on column search_indexes.path is 'Names of members, from the root of the document.';
comment on column search_indexes.state is
  'Writers maintain an index in the states building and ready; searches use a ready one.';
comment on column search_indexes.visible_from is
  'Transactions from this one on see the state; null until that is known. Older ones must have ended before work on the values begins.';
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

create function index_document(of_app text, of_user text, of_class text, body jsonb)
  returns boolean
  language plpgsql volatile
as $$
declare
  changed record;
begin
  for changed in
    select i.index_id, n.*
    from search_indexes i
    cross join lateral (select body #> i.path as value, jsonb_typeof(body #> i.path) as type) f
    cross join lateral (
      -- A list inside the path may have the member in its elements.
      select coalesce(f.type <> 'null', false)
          or exists (select from generate_series(1, cardinality(i.path) - 1) length
            where jsonb_typeof(body #> i.path[1:length]) = 'array') as is_there,
        case when i.kind = 'text' and f.type = 'string' then left(f.value #>> '{}', 256) end
          as text_value,
        case when i.kind = 'number' and f.type = 'number' then f.value::numeric end
          as number_value,
        case when i.kind = 'boolean' and f.type = 'boolean' then f.value::boolean end
          as boolean_value
    ) n
    -- By the primary key, whatever the statistics: `limit` keeps the planner from a hash of all.
    left join lateral (
      select v.text_value, v.number_value, v.boolean_value, true as is_there
      from search_values v where v.user_id = of_user and v.index_id = i.index_id limit 1
    ) v on true
    where i.app_id = of_app and i.class = of_class and i.state <> 'removing'
      and (n.is_there <> (v.is_there is not null) or n.text_value is distinct from v.text_value
        or n.number_value is distinct from v.number_value
        or n.boolean_value is distinct from v.boolean_value)
  loop
    if changed.is_there then
      insert into search_values (user_id, index_id, text_value, number_value, boolean_value)
      values (of_user, changed.index_id, changed.text_value, changed.number_value,
        changed.boolean_value)
      on conflict (user_id, index_id) do update set text_value = excluded.text_value,
        number_value = excluded.number_value, boolean_value = excluded.boolean_value;
    else
      delete from search_values v where v.user_id = of_user and v.index_id = changed.index_id;
    end if;
  end loop;
  return true;
end
$$;

comment on function index_document(text, text, text, jsonb) is
  'Updates the search values of a document. Each statement that writes a document calls it. The lock of the document orders the writers, and each call sees what the one before stored, as the function is volatile.';

create view search_index_records as
  select index_id as id, class, to_json(path) as path, kind, state, created_at, app_id
  from search_indexes;

comment on view search_index_records is 'Search indexes as the API shows them.';

-- migrate: down

drop view search_index_records;
drop function index_document(text, text, text, jsonb);
drop table search_values;
drop table search_indexes;
