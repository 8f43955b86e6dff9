import Runtime
package import Postgres

package enum AppsAdministrationQueries {
  /// Violates `apps_name_key` if the name is taken.
  static let create = Statement<NoRow, AppID, String>(
    "apps.create",
    "insert into apps (app_id, name) values ($1, $2)"
  )

  static let createManagementAPI = Statement<NoRow, AppID, ResourceServerID>(
    "apps.create_management_api",
    """
    insert into resource_servers (app_id, resource_server_id, identifier, name, scopes, skips_consent)
    values ($1, $2, 'api/v2/', 'Management API', management_scopes(), false)
    """
  )

  static let list = Statement<AppRow>(
    "apps.list",
    """
    select id, name, settings, hosts, version, created_at, updated_at
    from app_records order by name
    """
  )

  static let find = Statement<AppRow, String>(
    "apps.find",
    """
    select id, name, settings, hosts, version, created_at, updated_at
    from app_records where name = $1
    """
  )

  /// Locks an app, so that concurrent changes of it run one after the other.
  package static let lock = Statement<AppRow, String>(
    "apps.lock",
    """
    select id, name, settings, hosts, version, created_at, updated_at
    from app_records where name = $1 for update
    """
  )

  /// Merges settings, and replaces the hosts by those of a JSON array.
  ///
  /// Violates `app_hosts_pkey` if a host belongs to another app.
  static let change = Statement<NoRow, AppID, TextBytes, TextBytes>(
    "apps.change",
    """
    with wanted as (
      select distinct host from jsonb_array_elements_text($3::jsonb) as w (host)
    ), gone as (
      delete from app_hosts where app_id = $1 and host not in (select host from wanted)
    ), added as (
      insert into app_hosts (host, app_id) select host, $1 from wanted w
      where not exists (select 1 from app_hosts h where h.host = w.host and h.app_id = $1)
    )
    update apps set settings = merge_patch(settings, $2::jsonb), version = version + 1,
      updated_at = now()
    where app_id = $1
    """
  )

  package static let all: [any PreparedStatement] = [
    create, createManagementAPI, list, find, lock, change,
  ]
}
