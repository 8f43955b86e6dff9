package import Runtime
package import EventLoop
import JSON
package import Postgres

/// The apps that this deployment serves, as the worker last read them.
@EventLoop package final class Apps: DomainService {
  private let database: Database
  package let catalog: AppCatalog
  private let fallback: String
  private var byName: [ByteString: App] = [:]
  private var byHost: [ByteString: App] = [:]
  /// The app of requests that select none.
  private var usual: App?
  private let complain: (String) -> Void
  private lazy var loader = CacheLoader(age: age) { [unowned self] () async throws(Failure) in
    do throws(DatabaseError) {
      try await read()
    } catch {
      throw Failure(error)
    }
  }
  private let age: Duration
  /// The invalid stored settings of each app that were already reported.
  private var misfits: [AppID: [String]] = [:]

  /// - Parameters:
  ///   - database: is read on first use.
  ///   - catalog: what features and wires add to each app.
  ///   - fallback: the name of the app of requests that select none.
  ///   - age: the cache lifetime of the apps; with zero, every request reads them.
  ///   - complain: receives a report of an app's invalid stored settings, once.
  package init(
    database: Database, _ catalog: AppCatalog, fallback: String, age: Duration = .seconds(5),
    complain: @escaping (String) -> Void = { _ in }
  ) {
    self.database = database
    self.catalog = catalog
    self.complain = complain
    self.fallback = fallback
    self.age = age
  }

  /// Returns the app that `app` would find, if the cache can answer.
  ///
  /// - Returns: nil if `app` must be called: the apps are not loaded, too old, or lack that name.
  package func known(named name: String?, host: @autoclosure () -> String?) -> App? {
    guard loader.isFresh() else { return nil }
    if let name { return byName[ByteString(name)] }
    if !byHost.isEmpty, let host = host(), let app = byHost[ByteString(host)] { return app }
    return usual
  }

  /// Returns the app selected by name, else by host, else the default app.
  ///
  /// - Throws: `.unknownApp`, `.databaseUnavailable`.
  package func app(named name: String?, host: String?) async throws(Failure) -> App {
    if let name = name.map(ByteString.init) {
      // The app may be new.
      guard let app = try await loader.find({ byName[name] }) else { throw .unknownApp }
      return app
    }
    try await loader.freshen()
    if let host, let app = byHost[ByteString(host)] { return app }
    guard let app = usual else { throw .unknownApp }
    return app
  }

  /// Returns the app with an id.
  ///
  /// - Throws: `.unknownApp`, `.databaseUnavailable`.
  package func app(_ id: AppID) async throws(Failure) -> App {
    guard let app = try await loader.find({ known(id) }) else { throw .unknownApp }
    return app
  }

  /// Returns the app with an id, if it is loaded.
  package func known(_ id: AppID) -> App? { byName.values.first { $0.id == id } }

  /// Returns all apps.
  ///
  /// - Throws: `.databaseUnavailable`.
  package func all() async throws(Failure) -> [App] {
    try await loader.freshen()
    return Array(byName.values)
  }

  private func read() async throws(DatabaseError) {
    let rows = try await database.read(AppsAdministrationQueries.list)
    var parts: [AppID: [any AppPart]] = [:]
    for type in catalog.parts { try await read(type, into: &parts) }
    let apps = rows.map { $0.app(catalog.settings, parts[$0.id] ?? []) }
    complainOfMisfits(in: apps)
    byName = Dictionary(apps.map { (ByteString($0.name), $0) }) { first, _ in first }
    byHost = [:]
    for app in apps { for host in app.hosts { byHost[ByteString(host)] = app } }
    usual = byName[ByteString(fallback)]
  }

  /// Reads the parts of one feature.
  private func read<Part: AppPart>(
    _ type: Part.Type, into parts: inout [AppID: [any AppPart]]
  ) async throws(DatabaseError) {
    let known = byName.values.compactMap { app in app.part(type).map { (app.id, $0) } }
    let read = try await Part.load(database, Dictionary(known) { first, _ in first })
    for (app, part) in read { parts[app, default: []].append(part) }
  }

  private func complainOfMisfits(in apps: [App]) {
    let found = apps.filter { !$0.settings.misfits.isEmpty }
    for app in found where misfits[app.id] != app.settings.misfits {
      let names = app.settings.misfits.joined(separator: ", ")
      complain(
        "the app \(app.name) has invalid stored settings; their safest values apply: \(names)"
      )
    }
    misfits = Dictionary(found.map { ($0.id, $0.settings.misfits) }) { first, _ in first }
  }
}

/// A stored app.
package struct AppRow: RowDecodable {
  let id: AppID
  let name: String
  private let settings: [UInt8]
  let hosts: [String]
  let version: Int
  private let createdAt: Timestamp
  private let updatedAt: Timestamp

  package init(from row: Row) throws(DatabaseError) {
    id = AppID(trusted: try row.text(0))
    name = try row.text(1)
    settings = try row.bytes(2)
    hosts = try row.text(3).split(separator: " ").map(String.init)
    version = try row.int(4)
    (createdAt, updatedAt) = (try row.time(5), try row.time(6))
  }

  func app(_ catalog: SettingsCatalog, _ parts: [any AppPart] = []) -> App {
    App(
      id, name, AppSettings(stored: settings, catalog), hosts: hosts, version: version, parts: parts
    )
  }

  @EventLoop func record(_ context: RequestContext) -> AppRecord {
    let app = app(context.apps.catalog.settings)
    return AppRecord(app: app, createdAt: createdAt, updatedAt: updatedAt)
  }
}

extension RequestContext {
  package var apps: Apps { dependencies[Apps.self] }
}
