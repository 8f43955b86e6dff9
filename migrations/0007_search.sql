-- What operators declared to be searched by, and the values found there.
--
-- The values are in a table of their own, written by the statement that writes the document, and
-- not in indexes on documents. An index on `body`, be it GIN or on an expression, makes every
-- write of a document touch every index of the table (no heap-only update), searched by or not;
-- GIN knows no order, so neither `>=` nor `^=`; and an index on an expression is a change of the
-- schema, which the server's role must not make. Here a write that leaves the value as it was
-- reads a row, and declaring an index is a row.

-- migrate: up

create table search_indexes (
  app_id object_id not null,
  index_id object_id not null,
  class text collate "C" not null check (class in ('metadata', 'app_metadata', 'custom_data')),
  -- Names of members, from the root of the document.
  path text[] not null check (cardinality(path) > 0),
  kind text collate "C" not null check (kind in ('text', 'number', 'boolean')),
  -- Writers serve an index from the start; searches use it when it is ready.
  state text collate "C" not null default 'building'
    check (state in ('building', 'ready', 'removing')),
  -- Transactions from here on see the state: set when it has changed, null until then. What is
  -- older must have ended before the work on the values begins.
  visible_from xid8,
  -- Documents of users up to here have been looked at.
  built_to text collate "C" not null default '',
  created_at timestamptz not null default now(),
  primary key (app_id, index_id),
  constraint search_indexes_path unique (app_id, class, path)
);

-- One row for each user with a value there, other than null. Of a value of another kind than the
-- index's it is only known that there is one.
create table search_values (
  user_id object_id not null references users on delete cascade,
  index_id object_id not null,
  -- The first 256 characters: filters have strings of at most 255, so all comparisons are exact.
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

-- 'dark' is common under one index and unknown under the next.
create statistics search_values_common (mcv) on index_id, text_value, boolean_value
  from search_values;

-- Members of the profile that can be searched by in every app. Users without them are not in the
-- way, and none of these changes at a login.
create index users_by_email on users (app_id, (email_key(email)) collate "C", user_id)
  where email is not null;
create index users_by_phone on users (app_id, phone collate "C", user_id) where phone is not null;
create index users_by_name on users (app_id, name collate "C", user_id) where name is not null;
create index users_by_given_name on users (app_id, given_name collate "C", user_id)
  where given_name is not null;
create index users_by_family_name on users (app_id, family_name collate "C", user_id)
  where family_name is not null;
create index users_by_nickname on users (app_id, nickname collate "C", user_id)
  where nickname is not null;
create index users_by_created_at on users (app_id, created_at, user_id);

-- Makes the values of a user's document those that are in it. Whatever writes a document calls
-- this in the same statement, on what it has written: the row's lock makes writers follow one
-- another, and here each sees what the one before left, being volatile.
--
-- Some 10 microseconds for an app without indexes, and as many for each index whose value stays as
-- it was.
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
      select coalesce(f.type <> 'null', false) as is_there,
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

-- migrate: down

drop function index_document;
drop index users_by_email, users_by_phone, users_by_name, users_by_given_name,
  users_by_family_name, users_by_nickname, users_by_created_at;
drop table search_values;
drop table search_indexes;
