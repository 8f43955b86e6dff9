-- The receivers of rows of the outbox, so that one that does not answer delays no other.

-- migrate: up

alter table mail_outbox add column receiver text collate "C";

comment on column mail_outbox.receiver is
  'The client that gets the message; null for the relay, and for rows that become mails.';

drop index mail_outbox_by_turn;
create index mail_outbox_by_turn on mail_outbox ((receiver is not null), next_attempt_at)
  where next_attempt_at is not null;

-- migrate: down

drop index mail_outbox_by_turn;
create index mail_outbox_by_turn on mail_outbox (next_attempt_at)
  where next_attempt_at is not null;

alter table mail_outbox drop column receiver;
