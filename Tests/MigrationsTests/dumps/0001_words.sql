-- migrate: up
create domain word as text collate "C" check (value ~ '^[a-z]+$');
create table words (
  word word primary key,
  rank integer not null default 1 check (rank in (1, 2) or rank > 10),
  size integer generated always as (length(word)) stored
);
create index words_by_start on words (left(word, 1)) where rank > 1;
create table gone (word text, reason text);
create view short_words with (security_barrier = true) as select w.word, w.size + 1 from words w where w.size < 5;
create function forget(a_word text) returns boolean language sql begin atomic
  update words as w set rank = 11 where w.word = a_word;
  with d as (delete from words w where w.word = a_word returning w.word)
  insert into gone select d.word, 'forgotten' from d;
  select true;
end;
create function count_words() returns bigint language sql stable as 'select count(*) from words';
-- migrate: down
drop function count_words;
drop function forget;
drop view short_words;
drop table gone;
drop table words;
drop domain word;
