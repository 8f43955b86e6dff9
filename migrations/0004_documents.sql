-- The JSON documents of a user, one of each class.

-- migrate: up

create table documents (
  user_id object_id not null references users on delete cascade,
  class text collate "C" not null check (class in ('metadata', 'app_metadata', 'custom_data')),
  body jsonb not null check (jsonb_typeof(body) = 'object'),
  -- Grows by one with each change, also over a deletion: no version names two bodies.
  version bigint not null,
  -- Set by a deletion; the row keeps the version.
  deleted_at timestamptz,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  primary key (user_id, class),
  -- In bytes as the server writes it. 64 KiB: a settings screen's worth; 1 MiB: an app's state.
  constraint documents_size check (
    octet_length(body::text) <= case class when 'custom_data' then 1048576 else 65536 end)
);

-- RFC 7396: what a document becomes by a merge patch. The patch decides the depth of the
-- recursion, and the server bounds the depth of a patch.
create function merge_patch(target jsonb, patch jsonb) returns jsonb
  language plpgsql immutable parallel safe
as $$
declare
  result jsonb;
  name text;
  value jsonb;
begin
  if jsonb_typeof(patch) <> 'object' then
    return patch;
  end if;
  result := case when jsonb_typeof(target) = 'object' then target else '{}' end;
  for name, value in select * from jsonb_each(patch) loop
    if jsonb_typeof(value) = 'null' then
      result := result - name;
    elsif jsonb_typeof(value) = 'object' then
      result := result || jsonb_build_object(name, merge_patch(result -> name, value));
    else
      result := result || jsonb_build_object(name, value);
    end if;
  end loop;
  return result;
end
$$;

-- migrate: down

drop function merge_patch;
drop table documents;
