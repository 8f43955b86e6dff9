-- What large tables need: work on search indexes that continues after an interruption, room for
-- updates beside their rows, vacuum in small portions, and no index of the users in the audit log.

-- migrate: up

-- Programs of the version before build an index user by user, by built_to. They start from the first
-- user, and their result is complete too.
alter table search_indexes
  add column phase text collate "C" not null default 'fill'
    check (phase in ('fill', 'check', 'clear')),
  add column claimed_to text collate "C" default '',
  add column open_ranges text[] not null default '{}',
  add column finished_users bigint not null default 0;

comment on column search_indexes.phase is
  'Of the present work. fill: adds values. check: corrects the values of documents that were written meanwhile. clear: deletes values.';
comment on column search_indexes.claimed_to is
  'The last user of the ranges that some process has begun in this phase; null when all are begun.';
comment on column search_indexes.open_ranges is
  'The ranges that are begun and not finished: the user before the first, the last user, and the number of users.';
comment on column search_indexes.finished_users is
  'The users of the ranges that are finished in this phase.';
comment on column search_indexes.built_to is
  'The last user whose documents the version before has indexed. Programs no longer read it.';

-- By default, PostgreSQL vacuums a table when a fifth of its rows are dead: 10 million of 50.
alter table users set (autovacuum_vacuum_scale_factor = 0.02,
  autovacuum_vacuum_insert_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.02);
alter table sessions set (autovacuum_vacuum_scale_factor = 0.02,
  autovacuum_vacuum_insert_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.02);
alter table devices set (autovacuum_vacuum_scale_factor = 0.02,
  autovacuum_vacuum_insert_scale_factor = 0.05);
alter table documents set (autovacuum_vacuum_scale_factor = 0.02,
  autovacuum_vacuum_insert_scale_factor = 0.05);
alter table properties set (autovacuum_vacuum_scale_factor = 0.02,
  autovacuum_vacuum_insert_scale_factor = 0.05);
alter table search_values set (autovacuum_vacuum_scale_factor = 0.02,
  autovacuum_vacuum_insert_scale_factor = 0.05);
alter table document_versions set (autovacuum_vacuum_scale_factor = 0.02,
  autovacuum_vacuum_insert_scale_factor = 0.05);
alter table audit set (autovacuum_vacuum_scale_factor = 0.02,
  autovacuum_vacuum_insert_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.02);

-- Rows of these tables live for days or for seconds.
alter table feed_events set (autovacuum_vacuum_scale_factor = 0.05);
alter table webhook_deliveries set (autovacuum_vacuum_scale_factor = 0.05);
alter table mail_deliveries set (autovacuum_vacuum_scale_factor = 0.05);
alter table rate_limits set (autovacuum_vacuum_scale_factor = 0.05);
alter table idempotency_keys set (autovacuum_vacuum_scale_factor = 0.05);
alter table unpublished_changes set (autovacuum_vacuum_scale_factor = 0,
  autovacuum_vacuum_threshold = 2000);
alter table mail_outbox set (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000);

-- An update of a row finds room on its page, so that no index changes.
alter table users set (fillfactor = 90);
alter table sessions set (fillfactor = 90);
alter table devices set (fillfactor = 90);
alter table documents set (fillfactor = 90);

drop index audit_by_actor;

-- migrate: down

create index audit_by_actor on audit (app_id, actor, event_id);

alter table users reset (fillfactor, autovacuum_vacuum_scale_factor,
  autovacuum_vacuum_insert_scale_factor, autovacuum_analyze_scale_factor);
alter table sessions reset (fillfactor, autovacuum_vacuum_scale_factor,
  autovacuum_vacuum_insert_scale_factor, autovacuum_analyze_scale_factor);
alter table devices reset (fillfactor, autovacuum_vacuum_scale_factor,
  autovacuum_vacuum_insert_scale_factor);
alter table documents reset (fillfactor, autovacuum_vacuum_scale_factor,
  autovacuum_vacuum_insert_scale_factor);
alter table properties reset (autovacuum_vacuum_scale_factor,
  autovacuum_vacuum_insert_scale_factor);
alter table search_values reset (autovacuum_vacuum_scale_factor,
  autovacuum_vacuum_insert_scale_factor);
alter table document_versions reset (autovacuum_vacuum_scale_factor,
  autovacuum_vacuum_insert_scale_factor);
alter table audit reset (autovacuum_vacuum_scale_factor,
  autovacuum_vacuum_insert_scale_factor, autovacuum_analyze_scale_factor);
alter table feed_events reset (autovacuum_vacuum_scale_factor);
alter table webhook_deliveries reset (autovacuum_vacuum_scale_factor);
alter table mail_deliveries reset (autovacuum_vacuum_scale_factor);
alter table rate_limits reset (autovacuum_vacuum_scale_factor);
alter table idempotency_keys reset (autovacuum_vacuum_scale_factor);
alter table unpublished_changes reset (autovacuum_vacuum_scale_factor,
  autovacuum_vacuum_threshold);
alter table mail_outbox reset (autovacuum_vacuum_scale_factor, autovacuum_vacuum_threshold);

alter table search_indexes
  drop column phase,
  drop column claimed_to,
  drop column open_ranges,
  drop column finished_users;

comment on column search_indexes.built_to is
  'The last user whose documents are indexed, while the state is building.';
