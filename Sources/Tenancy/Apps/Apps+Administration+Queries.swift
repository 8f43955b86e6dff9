import Runtime
package import Postgres

extension SQL {
  /// The select of an `AppRow`, without a condition.
  fileprivate static let apps: SQL = """
    select id, name, settings, hosts, version, created_at, updated_at from app_records
    """
}

package enum AppsAdministrationQueries {
  /// Violates `apps_name_key` if the name is taken.
  static let create = Statement<NoRow, AppID, String>(
    "apps.create", "insert into apps (app_id, name) values ($1, $2)"
  )

  static let createManagementAPI = Statement<NoRow, AppID, ResourceServerID>(
    "apps.create_management_api",
    """
    insert into resource_servers (app_id, resource_server_id, identifier, name, scopes, skips_consent,
      allows_offline_access)
    values ($1, $2, 'api/v2/', 'Management API', management_scopes(), false, true)
    """)

  /// Returns all apps; they are few, and each worker caches them.
  static let list = Statement<AppRow>("apps.list", "\(.apps) order by name")

  static let find = Statement<AppRow, String>("apps.find", "\(.apps) where name = $1")

  /// Locks an app, so that concurrent changes of it run one after the other.
  package static let lock = Statement<AppRow, String>(
    "apps.lock", "\(.apps) where name = $1 for no key update"
  )

  static let removeHosts = Statement<NoRow, AppID, TextArray>(
    "apps.remove_hosts", "delete from app_hosts where app_id = $1 and host <> all ($2::text[])"
  )

  /// Undoes the transaction if a host belongs to another app.
  static let addHosts = Statement<NoRow, AppID, TextArray>(
    "apps.add_hosts",
    """
    insert into app_hosts as h (host, app_id) select distinct w.host, $1 from unnest($2::text[]) w (host)
    on conflict (host) do update
    set app_id = case when require(h.app_id = excluded.app_id) then excluded.app_id end
    """)

  /// Replaces the settings of a locked app.
  static let change = Statement<NoRow, AppID, TextBytes>(
    "apps.change",
    """
    update apps set settings = $2::jsonb, version = version + 1, updated_at = now()
    where app_id = $1
    """)

  package static let all: [any PreparedStatement] = [
    create, createManagementAPI, list, find, lock, removeHosts, addHosts, change,
  ]
}
