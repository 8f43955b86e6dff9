import EventLoop
package import Postgres
package import Runtime
package import Tenancy
import Records
import JSON

/// The enabled connections of an app, in the order of their buttons, as the worker last read them.
///
/// So a sign-in page knows its buttons without a statement.
package struct AppConnections: AppPart {
  package fileprivate(set) var all: [Connection] = []

  package static func load(
    _ database: Database, _ known: [AppID: AppConnections]
  ) async throws(DatabaseError) -> [AppID: AppConnections] {
    var apps: [AppID: AppConnections] = [:]
    for connection in try await database.read(ConnectionRecord.table.statements.list, nil) {
      guard connection.isEnabled, let app = connection.appID else { continue }
      apps[app, default: AppConnections()].all.append(connection)
    }
    for app in apps.keys {
      apps[app]?.all.sort { ($0.position, $0.key) < ($1.position, $1.key) }
    }
    return apps
  }

  /// Returns the connection with a name, or with the name of Auth0 for its preset; nil without one.
  package func named(_ name: String) -> Connection? {
    all.first { $0.key.hasSameBytes(as: name) } ?? all.first { $0.isNamed(name) }
  }

  /// Returns the connection whose users have a provider; nil without one.
  package func connection(of provider: IdentityProvider) -> Connection? {
    all.first { $0.provider == provider }
  }
}

extension AppConnections: IssuerLabels {
  package func label(ofIssuer issuer: String) -> String? {
    connection(of: IdentityProvider(ofIssuer: issuer))?.label
  }
}

extension App {
  package var connections: AppConnections { part() ?? AppConnections() }
}
