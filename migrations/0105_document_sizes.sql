-- The size of a document, so that a statement knows it before it unpacks and prints the document.
-- Printing one of 700 KB takes tens of milliseconds, for which small reads would wait.

-- migrate: up

-- This is one command, so that the table is rewritten only once. The check reads the computed size,
-- so a write costs as much as before.
alter table documents
  drop constraint documents_size,
  add column size integer not null generated always as (octet_length(body::text)) stored,
  add constraint documents_size check (
    size <= case class when 'custom_data' then 1048576 else 65536 end);

-- migrate: down

alter table documents
  drop constraint documents_size,
  drop column size,
  add constraint documents_size check (
    octet_length(body::text) <= case class when 'custom_data' then 1048576 else 65536 end);
