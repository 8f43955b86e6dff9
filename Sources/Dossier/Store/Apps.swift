package import EventLoop
package import Postgres

/// The apps that this deployment serves, as the worker last read them.
@EventLoop package final class Apps {
  private let database: Database
  private var known: [String: App] = [:]

  package init(database: Database) { self.database = database }

  /// The app of that name.
  ///
  /// Read once and remembered.
  /// - Throws: `.notFound`, `.unavailable`.
  package func named(_ name: String) async throws(Failure) -> App {
    if let app = known[name] { return app }
    let found: App?
    do throws(DatabaseError) {
      found = try await database.read(AppsQueries.named, name).first
    } catch {
      throw Failure(error)
    }
    guard let found else { throw .notFound }
    known[name] = found
    return found
  }
}

/// One app: its users are its own.
package struct App: RowDecodable {
  package let id: AppID
  package let name: String

  package init(from row: Row) throws(DatabaseError) {
    id = AppID(trusted: try row.text(0))
    name = try row.text(1)
  }

  /// How long an access token is good for.
  package var accessTokenLifetime: Duration { .seconds(30 * 60) }
  /// How long a session lasts after its last refresh.
  package var sessionLifetime: Duration { .seconds(60 * 86_400) }
}

package enum AppsQueries {
  /// Served by the unique key of the name.
  static let named = Statement<App, String>(
    "apps.named",
    "select app_id, name from apps where name = $1"
  )

  package static let all: [any PreparedStatement] = [named]
}
