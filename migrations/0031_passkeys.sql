-- Passkeys of users.

-- migrate: up

create table passkeys (
  user_id text collate "C" not null references users on delete cascade,
  passkey_id text collate "C" not null check (passkey_id ~ '^[0-9a-f]{24}$'),
  credential bytea not null check (length(credential) between 1 and 1023),
  public_key bytea not null check (length(public_key) between 1 and 2048),
  user_handle bytea not null check (length(user_handle) between 1 and 64),
  rp_id text collate "C" not null,
  sign_count bigint not null check (sign_count between 0 and 4294967295),
  backup_eligible boolean not null,
  backed_up boolean not null,
  transports text collate "C" not null default '',
  aaguid bytea not null check (length(aaguid) = 16),
  name text not null,
  created_at timestamptz not null default now(),
  last_used_at timestamptz,
  primary key (user_id, passkey_id)
);

do $$ begin
  if to_regclass('pg_dist_partition') is not null then
    if exists (select 1 from pg_dist_partition where logicalrelid = 'users'::regclass) then
      perform create_distributed_table('passkeys', 'user_id', colocate_with => 'users');
    end if;
  end if;
end $$;

comment on table passkeys is
  'Passkeys of users. Each has a row in identities with the provider passkey and the same id.';
comment on column passkeys.passkey_id is 'The start of the hash of the credential id.';
comment on column passkeys.public_key is 'The key in the format of COSE, with its bytes as they came.';
comment on column passkeys.user_handle is
  'The user handle that the authenticator stores: the id of the user at the registration.';
comment on column passkeys.rp_id is 'The domain for which the authenticator made it.';
comment on column passkeys.sign_count is
  'The counter of the last signature. It grows at passkeys of one device; others send 0.';
comment on column passkeys.backup_eligible is 'Whether it may be on several devices.';
comment on column passkeys.backed_up is 'Whether it was on several devices at the last sign-in.';
comment on column passkeys.transports is
  'How clients reach the authenticator, with spaces between the words.';
comment on column passkeys.aaguid is 'The model of the authenticator; zeros if it states none.';

alter table authentication_flows drop constraint authentication_flows_purpose_check;
alter table authentication_flows add constraint authentication_flows_purpose_check check (
  purpose in (
    'sign_in', 'passwordless', 'network_sign_in', 'network_reset', 'register', 'link',
    'change_email', 'second_factor', 'enroll', 'passkey'));
comment on table authentication_flows is
  'Sign-ins, registrations and changes of an address that wait for a code or a second factor, and ceremonies of passkeys that were used.';
comment on column sessions.key_id is
  'The API key or the passkey that opened the session, which ends with it; null for other credentials.';

-- migrate: down

comment on column sessions.key_id is
  'The API key that opened the session, which ends with it; null for other credentials.';
comment on table authentication_flows is
  'Sign-ins, registrations and changes of an address that wait for a code or a second factor.';
delete from authentication_flows where purpose = 'passkey';
alter table authentication_flows drop constraint authentication_flows_purpose_check;
alter table authentication_flows add constraint authentication_flows_purpose_check check (
  purpose in (
    'sign_in', 'passwordless', 'network_sign_in', 'network_reset', 'register', 'link',
    'change_email', 'second_factor', 'enroll'));
delete from identity_subjects where provider = 'passkey';
delete from identities where provider = 'passkey';
update sessions set ended_at = now(), end_reason = 'unlink'
where provider = 'passkey' and ended_at is null;
drop table passkeys;
