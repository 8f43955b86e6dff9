-- The session at an issuer that has begun a session, so that a sign-out there ends it.

-- migrate: up

alter table sessions add column issuer_session text collate "C";
alter table authentication_flows add column issuer_session text collate "C";

comment on column sessions.issuer_session is
  'The session at the issuer that has signed the user in (sid); null if unknown.';
comment on column authentication_flows.issuer_session is
  'The same of the sign-in that waits for a second factor.';

create index sessions_of_issuer_session on sessions (issuer_session)
  where issuer_session is not null and ended_at is null;

-- migrate: down

drop index sessions_of_issuer_session;
alter table authentication_flows drop column issuer_session;
alter table sessions drop column issuer_session;
