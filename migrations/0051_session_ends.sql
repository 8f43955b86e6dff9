-- Ends of sessions that are not published when their user is deleted: they wait beside the changes that
-- are only published, as the rows of the sessions go with the user.

-- migrate: up

alter table unpublished_changes add column device_id text collate "C", add column detail jsonb;

comment on table unpublished_changes is
  'Changes that users made to their own data, and ends of sessions of users that are deleted, until the feed of the app has them.';
comment on column unpublished_changes.what is
  'The part of the data: metadata, properties, profile …; session_end for the end of a session.';
comment on column unpublished_changes.detail is 'The client and the reason of the end of a session.';

-- migrate: down

delete from unpublished_changes where what = 'session_end';
alter table unpublished_changes drop column device_id, drop column detail;

comment on table unpublished_changes is
  'Changes that users made to their own data, until the feed of the app has them.';
comment on column unpublished_changes.what is 'The part of the data: metadata, properties, profile …';
