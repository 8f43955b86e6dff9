-- The events of all actors except users, who cause most events. 0050 drops the index of all actors,
-- which took 90 bytes an event.

-- migrate: no transaction
-- migrate: up

create index concurrently audit_by_other_actor on audit (app_id, actor, event_id)
  where actor <> 'user';

-- migrate: down

drop index concurrently audit_by_other_actor;
