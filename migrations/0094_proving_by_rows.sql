-- What ends when credentials come to a user of whom nobody had shown who it is: whether the user links
-- them, or a row of an import.

-- migrate: up

-- Ends what was made while nobody had shown who a user is: API keys, sessions, and places on devices,
-- but for one session and the place on its device, which may be spared. An API key shows that its
-- holder had a session, and nothing of who it is.
create function end_unproved(
  of_user text, of_app text, by_actor text, from_address inet, from_agent text,
  spared_session text default null, spared_device text default null
) returns void
language sql
begin atomic
  select end_other_ways_in(of_user, of_app, by_actor, from_address, from_agent, spared_device),
    (select count(*) from end_sessions(
      of_user, 'link', by_actor, from_address, from_agent, null, spared_session))
  where not exists (
    select from identities i
    where i.user_id = of_user and i.provider not in ('anonymous', 'api-key'));
end;

-- migrate: down

drop function end_unproved;
