-- The session of a stored version, so that what a session wrote can be undone.

-- migrate: up

alter table document_versions add column session_id text collate "C";

comment on column document_versions.session_id is
  'The session that wrote this version; null if no user did, and for versions before this column.';

-- migrate: down

alter table document_versions drop column session_id;
