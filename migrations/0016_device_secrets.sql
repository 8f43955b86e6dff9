-- The secret of a device is another after each login on it: whoever copied the one before, from a
-- browser that several people use, does not get the tokens of who comes next.

-- migrate: up

alter table devices
  -- Of the secret before the last login, which goes on for a moment: for requests that were under
  -- way, and for two tabs that log in at once.
  add column previous_hash bytea,
  add column replaced_at timestamptz;

-- One row when `shown` proves the device: for whom it speaks, those who were chosen there before
-- `until`. A secret that a login has replaced goes on for 30 seconds, and never for who came by that
-- login or after it. Inlined by the planner.
create function proved_device(of_device text, of_app text, shown bytea)
  returns table (device_id text, until timestamptz)
  language sql stable parallel safe rows 1
begin atomic
  select d.device_id, case when d.secret_hash = shown then 'infinity' else d.replaced_at end
  from devices d
  where d.device_id = of_device and d.app_id = of_app
    and (d.secret_hash = shown
      or d.previous_hash = shown and d.replaced_at > now() - interval '30 seconds');
end;

-- migrate: down

drop function proved_device;
alter table devices drop column previous_hash, drop column replaced_at;
