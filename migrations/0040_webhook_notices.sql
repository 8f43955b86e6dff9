-- When administrators get emails about a webhook whose receiver fails.

-- migrate: up

alter table webhook_progress
  add column notice_due_at timestamptz,
  add column disabled_at timestamptz;

create index webhook_progress_notice_due on webhook_progress (notice_due_at)
  where notice_due_at is not null;

comment on column webhook_progress.notice_due_at is
  'When administrators get the next email about the failures; null for none. A worker changes it to send the email.';
comment on column webhook_progress.disabled_at is
  'When a worker has disabled the webhook; null if none has, and after an operator has enabled it again.';

alter table mail_outbox drop constraint mail_outbox_kind_check;
alter table mail_outbox add constraint mail_outbox_kind_check check (
  kind in (
    'request', 'verify', 'reset', 'restore', 'change', 'taken', 'unknown', 'code', 'logout',
    'revocation', 'operation'));

-- migrate: down

delete from mail_outbox where kind = 'operation';
alter table mail_outbox drop constraint mail_outbox_kind_check;
alter table mail_outbox add constraint mail_outbox_kind_check check (
  kind in (
    'request', 'verify', 'reset', 'restore', 'change', 'taken', 'unknown', 'code', 'logout',
    'revocation'));
drop index webhook_progress_notice_due;
alter table webhook_progress drop column notice_due_at, drop column disabled_at;
