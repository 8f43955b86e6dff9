-- A merge patch is applied in one pass over its members and those of the document, whatever their
-- number: adding one to an object copies the object.

-- migrate: up

create or replace function merge_patch(target jsonb, patch jsonb) returns jsonb
language plpgsql immutable parallel safe as $$
begin
  if jsonb_typeof(patch) <> 'object' then
    return patch;
  end if;
  return (
    select coalesce(jsonb_object_agg(coalesce(p.key, t.key), case
      when p.key is null then t.value
      when jsonb_typeof(p.value) = 'object' then merge_patch(t.value, p.value)
      else p.value end), '{}')
    from jsonb_each(case when jsonb_typeof(target) = 'object' then target else '{}' end) t
    full join jsonb_each(patch) p on p.key = t.key
    where p.key is null or jsonb_typeof(p.value) <> 'null'
  );
end
$$;

-- migrate: down

create or replace function merge_patch(target jsonb, patch jsonb) returns jsonb
language plpgsql immutable parallel safe as $$
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
