-- The setting `mail_translations` becomes `texts`, which has the keys of the files of the languages.

-- migrate: up

update apps set version = version + 1, settings = settings - 'mail_translations' || jsonb_build_object(
  'texts', coalesce((
    select jsonb_object_agg(l.key, coalesce((
      select jsonb_object_agg(
        split_part(t.key, '_', 1) || 'Mail' || initcap(split_part(t.key, '_', 2)), t.value)
      from jsonb_each(l.value) t
    ), '{}'))
    from jsonb_each(settings -> 'mail_translations') l
    where jsonb_typeof(l.value) = 'object'
  ), '{}'))
where jsonb_typeof(settings -> 'mail_translations') = 'object';

-- migrate: down

update apps set version = version + 1, settings = settings - 'texts' || jsonb_build_object(
  'mail_translations', coalesce((
    select jsonb_object_agg(l.key, coalesce((
      select jsonb_object_agg(
        regexp_replace(t.key, 'Mail(Subject|Text)$', '') || '_'
          || lower(substring(t.key from '(Subject|Text)$')), t.value)
      from jsonb_each(l.value) t
      where t.key ~ '^(verify|reset|restore|taken|unknown|change|code)Mail(Subject|Text)$'
    ), '{}'))
    from jsonb_each(settings -> 'texts') l
    where jsonb_typeof(l.value) = 'object'
  ), '{}'))
where jsonb_typeof(settings -> 'texts') = 'object';
