-- Sessions know when their user last proved who it is, and identities belong to the issuer itself
-- and not to the name that an operator has for it.

-- migrate: up

-- When the user last logged in, or proved anew who it is, in this session.
alter table sessions add column authenticated_at timestamptz;
update sessions set authenticated_at = created_at;
alter table sessions alter column authenticated_at set default now(),
  alter column authenticated_at set not null;

-- Until now the provider of an issuer's identities was `jwt:` and the issuer's name; it becomes
-- `jwt:` and the `iss` of its tokens. A name may have been given to several issuers, one after the
-- other: an identity is of the one that had it when the identity was made, as far as the audit trail
-- tells, or of the first that got it later (an import may come before its issuer).
create temporary table issuer_names as
  select app_id, name, issuer, created_at as since from issuers
  union all
  select app_id, detail ->> 'name', detail ->> 'issuer', at from audit
  where action = 'issuer_add' and detail ->> 'name' is not null and detail ->> 'issuer' is not null;

-- Where two names stood for one issuer, a subject may have two users: the one who logged in last has
-- it. What is left, and what belongs to an issuer that nobody knows any more, is called `jwt-name:`
-- and the name; no token leads there.
create temporary table moved_identities as
  select user_id, identity_id, app_id, subject, had_subject,
    case when iss is not null and place = 1 then 'jwt:' || iss else 'jwt-name:' || name end
      as provider
  from (
    select i.user_id, i.identity_id, i.app_id, i.subject, i.name, i.had_subject, n.issuer as iss,
      row_number() over (partition by i.app_id, n.issuer, i.subject
        order by i.last_login_at desc nulls last, i.created_at, i.identity_id) as place
    from (
      select t.*, substr(t.provider, 5) as name, u.last_login_at, s.user_id is not null as had_subject
      from identities t join users u on u.user_id = t.user_id
      left join identity_subjects s on s.app_id = t.app_id and s.provider = t.provider
        and s.subject = t.subject and s.user_id = t.user_id
      where t.provider like 'jwt:%') i
    left join lateral (
      select issuer from issuer_names n where n.app_id = i.app_id and n.name = i.name
      order by n.since <= i.created_at desc,
        case when n.since <= i.created_at then n.since end desc, n.since limit 1
    ) n on true
  ) i;

delete from identity_subjects where provider like 'jwt:%';
insert into identity_subjects (app_id, provider, subject, user_id, identity_id)
  select app_id, provider, subject, user_id, identity_id from moved_identities where had_subject;
update identities i set provider = m.provider from moved_identities m
  where i.user_id = m.user_id and i.identity_id = m.identity_id;

drop table moved_identities;
drop table issuer_names;

-- migrate: down

-- Back to names: the first by which the app knows the issuer.
create temporary table moved_identities as
  select i.user_id, i.identity_id, i.app_id, i.subject, 'jwt:' || n.name as provider
  from identities i
  join lateral (
    select name from issuers n where n.app_id = i.app_id and 'jwt:' || n.issuer = i.provider
    order by n.name limit 1
  ) n on true;

delete from identity_subjects s using moved_identities m
  where s.user_id = m.user_id and s.identity_id = m.identity_id;
insert into identity_subjects (app_id, provider, subject, user_id, identity_id)
  select app_id, provider, subject, user_id, identity_id from moved_identities;
update identities i set provider = m.provider from moved_identities m
  where i.user_id = m.user_id and i.identity_id = m.identity_id;
update identities i set provider = 'jwt:' || substr(i.provider, 10)
  where i.provider like 'jwt-name:%' and not exists (
    select from identity_subjects s where s.app_id = i.app_id
      and s.provider = 'jwt:' || substr(i.provider, 10) and s.subject = i.subject);
update identity_subjects s set provider = i.provider from identities i
  where i.user_id = s.user_id and i.identity_id = s.identity_id and s.provider like 'jwt-name:%';

drop table moved_identities;

alter table sessions drop column authenticated_at;
