-- The last versions of documents, for apps that ask for them.

-- migrate: up

-- A number of its own: every write of a document asks for it, and settings may have the texts of
-- mails beside it.
alter table apps add column document_history integer not null
  generated always as (coalesce((settings ->> 'document_history')::integer, 0)) stored;

create table document_versions (
  user_id object_id not null,
  class text collate "C" not null,
  version bigint not null,
  app_id object_id not null,
  -- Null when this version is a deletion.
  body jsonb,
  -- As in the audit trail.
  actor text collate "C" not null,
  changed_at timestamptz not null default now(),
  -- How many versions were kept when this one was written, or when housekeeping was last here: the
  -- newest of a document tells how many there may be.
  kept integer not null,
  primary key (user_id, class, version),
  -- Whoever keeps a version has this row locked already; the user's is left to others.
  foreign key (user_id, class) references documents on delete cascade
);

-- For housekeeping: what was written when the app kept more than now.
create index document_versions_by_kept on document_versions (app_id, kept);

-- Keeps the version of a document that the same statement has written, and no more than `count`:
-- the row's lock makes writers follow one another, and here each sees what the one before left.
create function keep_version(
  of_app text, count integer, of_user text, of_class text, of_version bigint, new_body jsonb,
  by_actor text) returns boolean
  language plpgsql volatile
as $$
begin
  insert into document_versions (user_id, class, version, app_id, body, actor, kept)
  values (of_user, of_class, of_version, of_app, new_body, by_actor, count);
  delete from document_versions v
  where v.user_id = of_user and v.class = of_class and v.version <= of_version - count;
  return true;
end
$$;

-- migrate: down

drop function keep_version;
drop table document_versions;
alter table apps drop column document_history;
