-- Which addresses were proved by their reader alone, who may not be who chose the password: the first
-- reset by mail then ends every other way in.

-- migrate: up

alter table identities add column proved_by_reader boolean not null default false;

-- migrate: down

alter table identities drop column proved_by_reader;
