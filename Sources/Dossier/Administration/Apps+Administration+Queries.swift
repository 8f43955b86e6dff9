package import Postgres

package enum AppsAdministrationQueries {
  /// Fails by `apps_name_key` when there is one of that name.
  static let create = Statement<AppRecord, AppID, String>(
    "apps.create",
    """
    insert into apps (app_id, name) values ($1, $2)
    returning app_id, name, settings::text, '', version, to_json(created_at) #>> '{}',
      to_json(updated_at) #>> '{}'
    """
  )

  static let list = Statement<JSONText>(
    "apps.list",
    """
    select coalesce(json_agg(json_build_object(
      'id', a.app_id, 'name', a.name,
      'hosts', (select coalesce(json_agg(h.host order by h.host), '[]') from app_hosts h
        where h.app_id = a.app_id),
      'version', a.version, 'created_at', a.created_at) order by a.name), '[]')::text
    from apps a
    """
  )

  static let find = Statement<AppRecord, String>(
    "apps.find",
    """
    select app_id, name, settings::text,
      coalesce((select string_agg(host, ' ' order by host) from app_hosts h
        where h.app_id = a.app_id), ''),
      version, to_json(created_at) #>> '{}', to_json(updated_at) #>> '{}'
    from apps a where name = $1
    """
  )

  /// So that changes of one app follow one another.
  static let lock = Statement<App, String>(
    "apps.lock",
    """
    select app_id, name, settings::text,
      coalesce((select string_agg(host, ' ' order by host) from app_hosts h
        where h.app_id = a.app_id), ''),
      version
    from apps a where name = $1 for update
    """
  )

  /// Merges settings, and makes the hosts those of a JSON array.
  ///
  /// Fails by `app_hosts_pkey` when a host is another app's.
  static let change = Statement<NoRow, AppID, TextBytes, TextBytes>(
    "apps.change",
    """
    with wanted as (
      select distinct host from jsonb_array_elements_text($3::jsonb) as w (host)
    ), gone as (
      delete from app_hosts where app_id = $1 and host not in (select host from wanted)
    ), added as (
      insert into app_hosts (host, app_id) select host, $1 from wanted w
      where not exists (select from app_hosts h where h.host = w.host and h.app_id = $1)
    )
    update apps set settings = merge_patch(settings, $2::jsonb), version = version + 1,
      updated_at = now()
    where app_id = $1
    """
  )

  package static let all: [any PreparedStatement] = [create, list, find, lock, change]
}
