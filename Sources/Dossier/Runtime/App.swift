import EventLoop
package import Postgres

/// One app with its own users, as the worker last read it.
package final class App: Sendable {
  package let id: AppID
  package let name: String
  package let settings: AppSettings
  package let hosts: [String]
  package let version: Int
  /// What features keep for the app, one value for each.
  private let parts: [any AppPart]

  package init(
    _ id: AppID,
    _ name: String,
    _ settings: AppSettings,
    hosts: [String],
    version: Int,
    parts: [any AppPart] = []
  ) {
    (self.id, self.name, self.settings) = (id, name, settings)
    (self.hosts, self.version, self.parts) = (hosts, version, parts)
  }

  /// The deployment, in requests outside of apps.
  package static let deployment = App(
    .deployment,
    "",
    AppSettings(stored: [], SettingsCatalog([])),
    hosts: [],
    version: 0
  )

  /// Returns what a feature keeps for the app, if anything.
  package func part<Part: AppPart>(_ type: Part.Type = Part.self) -> Part? {
    for part in parts { if let part = part as? Part { return part } }
    return nil
  }
}

/// What a feature reads from the database together with the apps, and keeps for each, such as
/// compiled schemas.
package protocol AppPart: Sendable {
  /// Reads the parts of all apps.
  ///
  /// - Parameters:
  ///   - database: the database.
  ///   - known: the parts that were read last, to be reused.
  /// - Returns: the parts, by app.
  @EventLoop static func load(
    _ database: Database,
    _ known: [AppID: Self]
  ) async throws(DatabaseError) -> [AppID: Self]
}

extension AppID {
  /// The deployment, in events and in requests outside of apps.
  package static let deployment = AppID(trusted: String(repeating: "0", count: 24))
}
