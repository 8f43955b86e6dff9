-- Second addresses of a user, each with a password of its own, from a link of two users.

-- migrate: up

alter table identities add column password_hash text collate "C";

comment on column identities.password_hash is
  'The hash of the password of a linked address, as in passwords; null for other identities.';
comment on column identities.provider is
  'anonymous, password, email, api-key, linked-password for the address of a linked user, or jwt: followed by the iss of the issuer.';
comment on column identity_subjects.reserved_until is
  'For a former address of the user: until when no other user can have it. Infinity for a linked address. Null for the present one.';

-- migrate: down

comment on column identity_subjects.reserved_until is
  'For a former address of the user: until when no other user can have it. Null for the present one.';
comment on column identities.provider is
  'anonymous, password, email, api-key, or jwt: followed by the iss of the issuer.';

alter table identities drop column password_hash;
