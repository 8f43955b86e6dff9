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
-- One value at a time, so that all plans are a look-up by the primary key, whatever the statistics.
create function index_document(of_app text, of_user text, of_class text, body jsonb)
  returns boolean
  language plpgsql volatile
as $$
declare
  declared record;
  stored search_values;
  found_value search_values;
begin
  for declared in
    select i.index_id, i.kind, body #> i.path as value, jsonb_typeof(body #> i.path) as type
    from search_indexes i
    where i.app_id = of_app and i.class = of_class and i.state <> 'removing'
  loop
    found_value := null;
    if declared.type <> 'null' then
      found_value.user_id := of_user;
      found_value.index_id := declared.index_id;
      if declared.kind = 'text' and declared.type = 'string' then
        found_value.text_value := left(declared.value #>> '{}', 256);
      elsif declared.kind = 'number' and declared.type = 'number' then
        found_value.number_value := declared.value::numeric;
      elsif declared.kind = 'boolean' and declared.type = 'boolean' then
        found_value.boolean_value := declared.value::boolean;
      end if;
    end if;
    select * into stored from search_values v
    where v.user_id = of_user and v.index_id = declared.index_id;
    if found_value is not distinct from stored then
      continue;
    elsif found_value.user_id is null then
      delete from search_values v where v.user_id = of_user and v.index_id = declared.index_id;
    else
      insert into search_values values (found_value.*)
      on conflict (user_id, index_id) do update set text_value = excluded.text_value,
        number_value = excluded.number_value, boolean_value = excluded.boolean_value;
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
