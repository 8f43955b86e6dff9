package import EventLoop
import JSON
package import Postgres

/// The apps that this deployment serves, as the worker last read them.
@EventLoop package final class Apps {
  private let database: Database
  private let fallback: String
  private var byName: [ExactString: App] = [:]
  private var byHost: [ExactString: App] = [:]
  /// The one of those who ask for none.
  private var usual: App?
  private var loadedAt: UInt64?
  private var begunAt: UInt64 = 0
  /// When the last reading that is through was begun: what was made before is in it.
  private var readAt: UInt64 = 0
  private let load = SharedTask<Void, Failure>()
  /// How long a change of an app may go unnoticed, in nanoseconds.
  private let age: UInt64
  /// How much time there is at least between two looks for an app that is not known, in
  /// nanoseconds: whoever asks for any name keeps the database no busier.
  private static let patience: UInt64 = 100_000_000
  private let complain: (String) -> Void
  /// Stored settings that cannot be, of each app, as they were complained of.
  private var misfits: [AppID: [String]] = [:]

  /// - Parameters:
  ///   - database: is read when it is first needed.
  ///   - fallback: the name of the app of those who ask for none.
  ///   - age: how long a change of an app may go unnoticed; none reads the apps for each who asks.
  ///   - complain: is told of an app's settings that are stored and cannot be, once.
  package init(
    database: Database,
    fallback: String,
    age: Duration = .seconds(5),
    complain: @escaping (String) -> Void = { _ in }
  ) {
    self.database = database
    self.complain = complain
    self.fallback = fallback
    self.age = age.nanoseconds
  }

  /// The app that is asked for, as `app` would find it, when there is nothing to wait for.
  ///
  /// - Returns: nil when `app` has to be asked: none was read yet, or not for long, or none is known
  ///   of that name.
  package func known(named name: String?, host: @autoclosure () -> String?) -> App? {
    guard let loadedAt else { return nil }
    let passed = EventLoop.now() - loadedAt
    if passed > age {
      guard passed <= 2 * age else { return nil }
      _ = reload()
    }
    if let name { return byName[ExactString(name)] }
    if !byHost.isEmpty, let host = host(), let app = byHost[ExactString(host)] { return app }
    return usual
  }

  /// The app that is asked for by name, else by host, else the deployment's own.
  ///
  /// - Throws: `.unknownApp`, `.unavailable`.
  package func app(named name: String?, host: String?) async throws(Failure) -> App {
    let askedAt = EventLoop.now()
    try await freshen(askedAt)
    if let name = name.map(ExactString.init) {
      // Perhaps it has just been made: what began to be read before it was asked for may lack it.
      while byName[name] == nil, readAt < askedAt {
        let (now, next) = (EventLoop.now(), begunAt + Self.patience)
        if now < next { await EventLoop.sleep(for: .nanoseconds(Int64(next - now))) }
        // Another who waited may have looked meanwhile.
        if readAt < askedAt { try await reload().value.get() }
      }
      guard let app = byName[name] else { throw .unknownApp }
      return app
    }
    if let host, let app = byHost[ExactString(host)] { return app }
    guard let app = usual else { throw .unknownApp }
    return app
  }

  /// The app of that id.
  ///
  /// - Throws: `.unknownApp`, `.unavailable`.
  package func app(_ id: AppID) async throws(Failure) -> App {
    try await freshen(EventLoop.now())
    guard let app = known(id) else { throw .unknownApp }
    return app
  }

  /// The app of that id, if the apps have been read.
  package func known(_ id: AppID) -> App? { byName.values.first { $0.id == id } }

  /// Whether some app lets pages of that origin call.
  package func allows(origin: String) async -> Bool {
    try? await freshen(EventLoop.now())
    return byName.values.contains { $0.settings.allows(origin: origin) }
  }

  /// Reads all apps when what is known is too old for who asked at that time.
  private func freshen(_ askedAt: UInt64) async throws(Failure) {
    guard let loadedAt else { return try await reload().value.get() }
    if age == 0 {
      // What failed to be read anew serves on as it is known.
      while readAt < askedAt, case .success = await reload().value {}
    } else if askedAt > loadedAt + age {
      // What is known serves on while it is read anew, unless nobody has asked for long.
      let load = reload()
      if askedAt > loadedAt + 2 * age { _ = await load.value }
    }
  }

  /// Reads all apps; those who ask meanwhile wait for the same reading.
  private func reload() -> SharedTask<Void, Failure>.Outcome {
    if !load.isUnderWay { begunAt = EventLoop.now() }
    return load.begin { [self] () async throws(Failure) in
      do throws(DatabaseError) {
        try await read()
      } catch {
        throw Failure(error)
      }
    }
  }

  private func read() async throws(DatabaseError) {
    let read = try await database.read(AppsQueries.all)
    let known = Dictionary(byName.values.map { ($0.id, $0.schemas) }) { first, _ in first }
    let schemas = try await Schemas.load(database, known)
    let apps = read.map { $0.with(schemas[$0.id] ?? DocumentSchemas()) }
    complainOfMisfits(in: apps)
    byName = Dictionary(apps.map { (ExactString($0.name), $0) }) { first, _ in first }
    byHost = [:]
    for app in apps { for host in app.hosts { byHost[ExactString(host)] = app } }
    usual = byName[ExactString(fallback)]
    loadedAt = EventLoop.now()
    readAt = begunAt
  }

  private func complainOfMisfits(in apps: [App]) {
    let found = apps.filter { !$0.settings.misfits.isEmpty }
    for app in found where misfits[app.id] != app.settings.misfits {
      let names = app.settings.misfits.joined(separator: ", ")
      complain(
        "the app \(app.name) has stored settings that cannot be, in whose place the safest count: "
          + names
      )
    }
    misfits = Dictionary(found.map { ($0.id, $0.settings.misfits) }) { first, _ in first }
  }
}

/// One app: its users are its own.
package final class App: RowDecodable, Sendable {
  package let id: AppID
  package let name: String
  package let settings: AppSettings
  package let hosts: [String]
  package let version: Int
  /// Put in by `Apps`: what is read of an app elsewhere is without them.
  package let schemas: DocumentSchemas

  package init(from row: Row) throws(DatabaseError) {
    id = AppID(trusted: try row.text(0))
    name = try row.text(1)
    settings = AppSettings(stored: try row.bytes(2))
    hosts = try row.text(3).split(separator: " ").map(String.init)
    version = try row.int(4)
    schemas = DocumentSchemas()
  }

  /// Stands for the deployment, in requests outside of apps.
  package static let deployment = App()

  private init() {
    (id, name, hosts, version) = (.deployment, "", [], 0)
    settings = AppSettings(stored: [])
    schemas = DocumentSchemas()
  }

  private init(_ app: App, _ schemas: DocumentSchemas) {
    id = app.id
    name = app.name
    settings = app.settings
    hosts = app.hosts
    version = app.version
    self.schemas = schemas
  }

  /// The same with schemas.
  func with(_ schemas: DocumentSchemas) -> App { App(self, schemas) }
}

package enum AppsQueries {
  /// There are few: a worker keeps all of them.
  static let all = Statement<App>(
    "apps.all",
    """
    select id, name, settings, hosts, version, created_at, updated_at
    from app_records order by name
    """
  )

  package static let statements: [any PreparedStatement] = [all]
}

extension AppID {
  /// Stands for the deployment in events, and for requests outside of apps.
  package static let deployment = AppID(trusted: String(repeating: "0", count: 24))
}
