-- Addresses are claimed by any number of users, also beside the one who has proved them.

-- migrate: up

-- From when a claim that was never used may make room for another; null for those that are kept:
-- of users whom somebody else made, or who were there before.
alter table unconfirmed_emails add column disposable_from timestamptz;

-- A newer token takes the place of those before it when its mail was accepted for sending: until
-- then all of them count.
alter table mail_tokens drop constraint mail_tokens_pkey,
  add primary key (user_id, purpose, token_hash);

-- Takes an address away from all who claim it but its holder, who has just proved it, and tells how
-- many they were. Who has no other way in becomes anonymous again, and keeps all else.
create function supersede_claims(of_app text, address text, holder text, by_actor text)
  returns bigint
  language sql
begin atomic
  with rivals as (
    delete from unconfirmed_emails e
    where e.app_id = of_app and e.email_key = email_key(address) and e.user_id <> holder
    returning e.user_id
  ), lost as (
    delete from identities i using rivals r where i.user_id = r.user_id and i.provider = 'password'
  ), cleared as (
    delete from passwords p using rivals r where p.user_id = r.user_id
  ), mails as (
    delete from mail_tokens m using rivals r where m.user_id = r.user_id
  ), stranded as materialized (
    select r.user_id, new_object_id() as identity_id from rivals r
    where not exists (
      select from identities i where i.user_id = r.user_id and i.provider <> 'password')
  ), identity as (
    insert into identities (user_id, identity_id, app_id, provider, subject)
    select user_id, identity_id, of_app, 'anonymous', user_id from stranded
  ), subject as (
    insert into identity_subjects (app_id, provider, subject, user_id, identity_id)
    select of_app, 'anonymous', user_id, user_id, identity_id from stranded
  ), changed as (
    update users u set email = null, email_verified = false, version = u.version + 1,
      updated_at = now(),
      anonymous = u.anonymous or exists (select from stranded s where s.user_id = u.user_id)
    from rivals r where u.user_id = r.user_id
  ), facts as (
    insert into audit (user_id, event_id, app_id, action, actor, detail)
    select user_id, new_object_id(), of_app, 'unlink', by_actor, '{"provider": "password"}'
    from rivals
  )
  select count(*) from rivals;
end;

-- Users who lost their only way in so before this are anonymous again, too.
with stranded as materialized (
  select u.user_id, u.app_id, new_object_id() as identity_id from users u
  where not exists (select from identities i where i.user_id = u.user_id)
), identity as (
  insert into identities (user_id, identity_id, app_id, provider, subject)
  select user_id, identity_id, app_id, 'anonymous', user_id from stranded
), subject as (
  insert into identity_subjects (app_id, provider, subject, user_id, identity_id)
  select app_id, 'anonymous', user_id, user_id, identity_id from stranded
)
update users u set anonymous = true, version = u.version + 1, updated_at = now()
from stranded s where u.user_id = s.user_id;

-- migrate: down

drop function supersede_claims;
delete from mail_tokens m using mail_tokens newer
where newer.user_id = m.user_id and newer.purpose = m.purpose
  and (newer.expires_at, newer.token_hash) > (m.expires_at, m.token_hash);
alter table mail_tokens drop constraint mail_tokens_pkey, add primary key (user_id, purpose);
alter table unconfirmed_emails drop column disposable_from;
