-- The words of the names of users. 0052 has the functions.

-- migrate: no transaction
-- migrate: up

create index concurrently users_by_name_words on users
  using gin (name_lexemes(app_id, name, given_name, family_name, nickname))
  with (fastupdate = off)
  where coalesce(name, given_name, family_name, nickname) is not null;

-- migrate: down

drop index concurrently users_by_name_words;
