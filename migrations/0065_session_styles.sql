-- Which wire's tokens a session has: those of one are refreshed and switched to by no other.

-- migrate: up

alter table sessions add column style text collate "C" not null default 'native';

-- migrate: down

alter table sessions drop column style;
