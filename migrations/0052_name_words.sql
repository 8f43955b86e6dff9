-- Functions that find users by each word of their names; 0053 makes the index.
--
-- The words have the app before them, so that one index serves all apps without an extension.

-- migrate: up

create function name_words(app text, names text) returns text[]
  language sql immutable parallel safe strict
  return array_remove(array_remove(string_to_array(replace(
    ' ' || translate(names, U&'!"''()*,-./:;_`\00b7\2010\2013\2014\2019',
      repeat(' ', 20)),
    ' ', ' ' || app || ':'), ' '), app || ':'), '');

comment on function name_words(text, text) is
  'Returns the words of names that name_key has folded, each after the id of the app.';

-- A function with a subquery is not inlined. Citus would send the expression inside, whose collations
-- differ from those of the index.
create function name_lexemes(app text, name text, given text, family text, nick text)
  returns tsvector language sql immutable parallel safe
  return (select array_to_tsvector(name_words(app,
    coalesce(name_key(name) || ' ', '') || coalesce(name_key(given) || ' ', '')
      || coalesce(name_key(family) || ' ', '') || coalesce(name_key(nick), ''))));

comment on function name_lexemes(text, text, text, text, text) is
  'Returns the words of the names of a user of an app, as the index of words has them.';

create function name_query(app text, names text, suffix text) returns tsquery
  language sql immutable parallel safe strict
  return (select string_agg(
      '''' || replace(replace(word, '\', '\\'), '''', '''''') || '''' || suffix, ' & ')
    from unnest(name_words(app, name_key(names))) word)::tsquery;

comment on function name_query(text, text, text) is
  'Returns the query for users that have all these words; with the suffix :* for their beginnings.';

-- migrate: down

drop function name_query(text, text, text);
drop function name_lexemes(text, text, text, text, text);
drop function name_words(text, text);
