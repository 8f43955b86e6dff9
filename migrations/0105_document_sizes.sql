-- How large a document is, so that whoever reads it can tell before it is unpacked and written out.
-- Writing out one of 700 KB takes tens of milliseconds, for which small reads would wait.

-- migrate: up

-- One command, so that the table is written anew once. The check reads the size, which is computed
-- anyway: a write costs as much as before.
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
