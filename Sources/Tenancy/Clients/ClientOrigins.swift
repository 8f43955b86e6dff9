package import Runtime
package import Postgres

/// The origins of web pages that the clients of an app name.
package struct ClientOrigins: Sendable {
  fileprivate var origins: [String]

  /// Returns whether a client of the app names the origin.
  package func allow(origin: String) -> Bool {
    origins.contains { AllowedOrigin.matches($0, origin) }
  }
}

extension ClientOrigins: AppPart {
  package static func load(
    _ database: Database, _ known: [AppID: ClientOrigins]
  ) async throws(DatabaseError) -> [AppID: ClientOrigins] {
    let rows = try await database.read(ClientOriginQueries.all)
    var parts: [AppID: ClientOrigins] = [:]
    for row in rows {
      parts[row.app, default: ClientOrigins(origins: [])].origins.append(row.origin)
    }
    return parts
  }
}

extension App {
  package var clientOrigins: ClientOrigins { part() ?? ClientOrigins(origins: []) }
}

/// An origin of an app.
struct ClientOriginRow: RowDecodable {
  let app: AppID
  let origin: String

  init(from row: Row) throws(DatabaseError) {
    app = try row.id(0)
    origin = try row.text(1)
  }
}

package enum ClientOriginQueries {
  /// Returns the origins of all clients that are not disabled, and those of their callback URLs.
  ///
  /// Stored settings that are no list, which this version cannot have written, are left out.
  static let all = Statement<ClientOriginRow>(
    "client_origins.all",
    """
    select distinct c.app_id, u.origin
    from clients c
    cross join (values ('web_origins'), ('cors_origins'), ('callback_urls')) s (name)
    cross join lateral jsonb_array_elements_text(
      case when jsonb_typeof(c.settings -> s.name) = 'array' then c.settings -> s.name
        else '[]' end) o (url)
    cross join lateral (
      select case s.name when 'callback_urls' then substring(o.url from '^https?://[^/?#]+')
        else o.url end) u (origin)
    where c.app_id is not null and c.disabled_at is null and u.origin is not null
    """)

  package static let statements: [any PreparedStatement] = [all]
}
