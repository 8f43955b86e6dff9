-- Who gets a way in to log in by is anonymous no more: whatever adds one takes the placeholder away
-- by this.

-- migrate: up

create function drop_anonymous_identity(of_user text) returns boolean
language sql
begin atomic
  delete from identities where user_id = of_user and provider = 'anonymous';
  delete from identity_subjects where user_id = of_user and provider = 'anonymous';
  select true;
end;

-- migrate: down

drop function drop_anonymous_identity(text);
