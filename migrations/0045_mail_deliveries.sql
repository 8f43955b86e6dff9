-- The results of the deliveries of emails, for a week, and indexes for the states of users.

-- migrate: up

create table mail_deliveries (
  user_id text collate "C" not null,
  mail_id text collate "C" not null check (mail_id ~ '^[0-9a-f]{24}$'),
  app_id text collate "C" not null references apps on delete cascade,
  kind text collate "C" not null,
  recipient text not null,
  recipient_hash bytea not null,
  attempts integer not null,
  accepted boolean not null,
  answer text,
  created_at timestamptz not null,
  ended_at timestamptz not null default now(),
  primary key (user_id, mail_id)
);

create index mail_deliveries_by_recipient on mail_deliveries (user_id, recipient_hash);
create index mail_deliveries_by_id on mail_deliveries (mail_id);
create index mail_deliveries_by_app on mail_deliveries (app_id, mail_id);
create index mail_deliveries_by_end on mail_deliveries (ended_at);

comment on table mail_deliveries is
  'Emails that the relay has accepted, or that expired before. Each row stays for seven days, without text and codes.';
comment on column mail_deliveries.user_id is
  'The user; the id of the app if the email concerns no known user.';
comment on column mail_deliveries.recipient is 'The address, of which most characters are masked.';
comment on column mail_deliveries.recipient_hash is 'A keyed hash of the address.';
comment on column mail_deliveries.accepted is 'Whether the relay has accepted the email.';
comment on column mail_deliveries.answer is 'The last answer of the relay, without addresses.';

comment on column mail_outbox.user_id is
  'The user whom the mail concerns; null if none is known. A mail with the hash of a token is not sent without that token in mail_tokens.';

create index mail_outbox_by_user on mail_outbox (user_id) where user_id is not null;

-- Few users are blocked or not verified; their lists must not read all others.
create index users_blocked on users (app_id, created_at, user_id) where blocked_at is not null;
create index users_unverified on users (app_id, created_at, user_id)
  where not email_verified and not anonymous;

do $$ begin
  if to_regclass('pg_dist_partition') is not null then
    if exists (select 1 from pg_dist_partition where logicalrelid = 'users'::regclass) then
      perform create_distributed_table('mail_deliveries', 'user_id', colocate_with => 'users');
    end if;
  end if;
end $$;

-- migrate: down

drop index users_unverified;
drop index users_blocked;
drop index mail_outbox_by_user;
comment on column mail_outbox.user_id is
  'The user whose token in mail_tokens the mail contains; without the token it is not sent.';
drop table mail_deliveries;
