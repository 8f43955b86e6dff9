-- A session knows by which API key it was opened, and ends with that.

-- migrate: up

-- Null for other ways in, and for sessions that were there before: those end with any key of theirs.
alter table sessions add column key_id object_id;

-- migrate: down

alter table sessions drop column key_id;
