-- Users change their address, and log in by codes that are mailed.

-- migrate: up

-- email: makes a new address the user's. restore: gives back the one before.
alter table mail_tokens drop constraint mail_tokens_purpose_check,
  add constraint mail_tokens_purpose_check
    check (purpose in ('confirm', 'reset', 'email', 'restore'));

alter table mails drop constraint mails_kind_check,
  add constraint mails_kind_check
    check (kind in ('confirm', 'reset', 'change', 'taken', 'email', 'restore', 'code'));

-- Codes to log in by. Who has the address is looked for when one is shown: until then a known address
-- and an unknown one are alike.
create table email_codes (
  app_id object_id not null references apps on delete cascade,
  code_id object_id not null,
  email_key text collate "C" not null,
  -- As it is stored of a user who is made by it.
  email text not null,
  -- A keyed hash of the code together with what the client got that asked for it.
  code_hash bytea not null,
  -- How many are left.
  tries integer not null,
  expires_at timestamptz not null,
  primary key (app_id, code_id)
);

create index email_codes_by_address on email_codes (app_id, email_key);
create index email_codes_by_time on email_codes (expires_at);

-- migrate: down

drop table email_codes;
delete from mails where kind in ('email', 'restore', 'code');
delete from mail_tokens where purpose in ('email', 'restore');
alter table mails drop constraint mails_kind_check,
  add constraint mails_kind_check check (kind in ('confirm', 'reset', 'change', 'taken'));
alter table mail_tokens drop constraint mail_tokens_purpose_check,
  add constraint mail_tokens_purpose_check check (purpose in ('confirm', 'reset'));
