-- The attributes of roles in one column, as those of APIs and issuers.

-- migrate: up

alter table roles add column attributes jsonb not null default '{}'
  check (jsonb_typeof(attributes) = 'object');

update roles set attributes = jsonb_build_object('description', description)
where description <> '';

alter table roles drop column description;

comment on column roles.attributes is
  'What differs from the defaults, by the names that `dossier role set` takes.';

-- migrate: down

alter table roles add column description text not null default '';

update roles set description = attributes ->> 'description' where attributes ? 'description';

alter table roles drop column attributes;
