-- Issuers whose tokens may leave out iss or aud.

-- migrate: up

alter table issuers
  add column allows_missing_iss boolean not null default false,
  add column allows_missing_aud boolean not null default false;

-- A token without iss belongs to this one issuer. Of two, either could log in the other's users.
create unique index issuers_missing_iss on issuers (app_id) where allows_missing_iss;

-- Likewise for issuers with the same iss and different audiences.
create unique index issuers_missing_aud on issuers (app_id, issuer) where allows_missing_aud;

-- migrate: down

drop index issuers_missing_aud;
drop index issuers_missing_iss;

alter table issuers drop column allows_missing_aud, drop column allows_missing_iss;
