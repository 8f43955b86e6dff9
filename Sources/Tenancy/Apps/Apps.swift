package import EventLoop
package import JSON
package import Postgres
package import Runtime
package import Records

/// The apps that this deployment serves, as the worker last read them.
@EventLoop package final class Apps: DomainService {
  private let database: Database
  package let catalog: AppCatalog
  private let fallback: String
  private var byName: [ByteString: App] = [:]
  private var byHost: [ByteString: App] = [:]
  /// The app of requests that select none.
  private var usual: App?
  /// The app of administrators, which no request selects.
  private var ofAdministrators: App?
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

  /// Returns the app of administrators, which no other function returns.
  ///
  /// - Throws: `.databaseUnavailable`.
  package func operators() async throws(Failure) -> App {
    try await loader.freshen()
    return try ofAdministrators.orUnforeseen("the app of administrators")
  }

  /// Returns all apps that requests can select.
  ///
  /// - Throws: `.databaseUnavailable`.
  package func all() async throws(Failure) -> [App] {
    try await loader.freshen()
    return Array(byName.values)
  }

  /// The time after which all workers know a change of an app.
  package var settling: Duration { age * 2 }

  private func read() async throws(DatabaseError) {
    let rows = try await database.read(AppsAdministrationQueries.list)
    var parts: [AppID: [any AppPart]] = [:]
    for type in catalog.parts { try await read(type, into: &parts) }
    let known = rows.map { $0.app(catalog.settings, parts[$0.id] ?? []) }
    complainOfMisfits(in: known)
    ofAdministrators = known.first { $0.id == .operators }
    let apps = known.filter { $0.id != .operators }
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
  package let id: AppID
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

  func app(_ catalog: RecordShape, _ parts: [any AppPart] = []) -> App {
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

/// A change of an app.
package struct AppChange: Sendable {
  /// A merge patch of the settings; null resets a setting to its default.
  package var settings = JSONObject()
  /// The new host names; nil keeps those of the app.
  package var hosts: [String]?

  package init() {}
}

/// An app as operators see it.
package struct AppRecord {
  package let app: App
  package let createdAt: Timestamp
  package let updatedAt: Timestamp

  package var id: AppID { app.id }
  package var name: String { app.name }
}

extension Apps {
  /// Creates an app with default settings.
  ///
  /// Workers load it with their next reload of the apps; a request that names it forces one.
  /// - Parameters:
  ///   - name: 1 to 63 of a-z, 0-9 and `-`; it cannot be changed.
  ///   - context: the context of the request.
  /// - Returns: the app.
  /// - Throws: `.invalid`, `.appExists`, `.databaseUnavailable`.
  package static func create(
    _ name: String, _ context: RequestContext
  ) async throws(Failure) -> AppRecord {
    if let fault = OperatorName.fault(in: name) { throw .invalid([fault]) }
    let id = AppID()
    return try await context.transaction { transaction async throws(Failure) in
      try await transaction.send(AppsAdministrationQueries.create, id, name)
        .rows(duplicate: .appExists)
      _ = transaction.send(
        AppsAdministrationQueries.createAPIs, id, ResourceServerID(), ResourceServerID())
      Event("app_create", detail: ["name": .string(name)]).record(in: transaction, app: id)
      return try await transaction.run(AppsAdministrationQueries.find, name)
    }.first.orUnforeseen("an app that was made").record(context)
  }

  /// Returns all apps but that of administrators, sorted by name.
  package static func list(_ context: RequestContext) async throws(Failure) -> [AppRecord] {
    try await context.read(AppsAdministrationQueries.list)
      .filter { $0.id != .operators }.map { $0.record(context) }
  }

  /// - Throws: `.unknownApp`, `.databaseUnavailable`.
  package static func record(
    of name: String, _ context: RequestContext
  ) async throws(Failure) -> AppRecord {
    let rows = try await context.read(AppsAdministrationQueries.find, name)
    guard let app = rows.first else { throw .unknownApp }
    return app.record(context)
  }

  /// Changes settings and hosts, and increments the version even if no value differs.
  ///
  /// Workers apply the change within about 10 seconds.
  /// - Throws: `.invalid` with pointers into a body with `settings` and `hosts`; `.hostTaken`,
  ///   `.preconditionFailed`, `.unknownApp`, `.databaseUnavailable`.
  package static func change(
    _ name: String, _ change: AppChange, if condition: VersionCondition, _ context: RequestContext
  ) async throws(Failure) -> AppRecord {
    let catalog = context.apps.catalog.settings
    return try await context.transaction { transaction async throws(Failure) in
      guard let before = try await transaction.run(AppsAdministrationQueries.lock, name).first
      else { throw .unknownApp }
      try condition.require(before.version)
      guard let stored = before.app(catalog).settings.chosen else {
        throw .internalError(reason: "the stored settings of an app do not parse")
      }
      let settings = catalog.change(of: stored, by: change.settings, at: "/settings")
      let faults =
        settings.faults.map(FieldError.init) + change.hostFaults + change.fixedFaults(of: before)
      guard faults.isEmpty else { throw .invalid(faults) }
      let hosts = change.hosts ?? before.hosts
      _ = transaction.send(AppsAdministrationQueries.removeHosts, before.id, TextArray(hosts))
      let added = transaction.send(AppsAdministrationQueries.addHosts, before.id, TextArray(hosts))
      let text = TextBytes(settings.after.serialized())
      _ = transaction.send(AppsAdministrationQueries.change, before.id, text)
      try await added.rows(undone: .hostTaken)
      let old = JSONObject([
        ("settings", .object(settings.auditedBefore)),
        ("hosts", .array(before.hosts.map(JSON.string))),
      ])
      Event("app_change", detail: change.audited(instead: old))
        .record(in: transaction, app: before.id)
      let after = try await transaction.run(AppsAdministrationQueries.find, name)
      return try after.first.orUnforeseen("an app that was changed")
    }.record(context)
  }
}

extension AppChange {
  /// Returns the new settings and hosts, and the old ones that they replace.
  fileprivate func audited(instead old: JSONObject) -> JSON {
    var (detail, before) = (JSONObject(), JSONObject())
    if settings.count > 0 {
      detail["settings"] = .object(RecordChange.shown(settings))
      before["settings"] = old["settings"]
    }
    if let hosts {
      detail["hosts"] = .array(hosts.map(JSON.string))
      before["hosts"] = old["hosts"]
    }
    if before.count > 0 { detail["before"] = .object(before) }
    return .object(detail)
  }

  /// Returns the faults of a change of what is fixed in the app of administrators.
  fileprivate func fixedFaults(of app: AppRow) -> [FieldError] {
    guard app.id == .operators else { return [] }
    let names = ["sign_up", "mfa"].filter { settings[$0] != nil }.map { "/settings/\($0)" }
    return (names + (hosts?.isEmpty == false ? ["/hosts"] : [])).map {
      FieldError($0, "fixed", "The app of administrators has a fixed value of this member.")
    }
  }

  /// 100: select an app with more hosts by `Dossier-App` instead.
  private static let limit = 100

  fileprivate var hostFaults: [FieldError] {
    let named = hosts ?? []
    guard named.count <= Self.limit else {
      return [FieldError("/hosts", "length", "An app may have at most \(Self.limit) hosts.")]
    }
    return named.enumerated().compactMap { index, host in
      Self.isHost(host)
        ? nil
        : FieldError(
          "/hosts/\(index)", "host",
          "A host must be a name or IP address in lower case, without a port, like nginx's $host."
        )
    }
  }

  /// Returns false for a text that cannot be a host name or an IP address.
  ///
  /// - Source: RFC 9110 section 4.2.3, RFC 3986 section 3.2.2.
  private static func isHost(_ host: String) -> Bool {
    let bytes = Array(host.utf8)
    let isAddress = bytes.first == UInt8(ascii: "[") && bytes.last == UInt8(ascii: "]")
    return (1...253).contains(bytes.count)
      && (isAddress ? bytes.dropFirst().dropLast() : bytes[...]).allSatisfy { byte in
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"),
          UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"):
          true
        default: isAddress && byte == UInt8(ascii: ":")
        }
      }
  }
}

/// The settings and data that the features and wires of a program add to each app.
package struct AppCatalog: Sendable {
  package let settings: RecordShape
  package let parts: [any AppPart.Type]

  package init(settings: RecordShape, parts: [any AppPart.Type]) {
    (self.settings, self.parts) = (settings, parts)
  }
}

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

  /// Creates the APIs of `ProvidedAPI`.
  static let createAPIs = Statement<NoRow, AppID, ResourceServerID, ResourceServerID>(
    "apps.create_apis",
    """
    insert into resource_servers (app_id, resource_server_id, identifier, name, scopes, attributes)
    values
      ($1, $2, 'api/v2/', 'Management API', management_scopes(),
        '{"skips_consent": false, "allows_offline_access": true}'),
      ($1, $3, '/', 'Your data', user_data_scopes(), '{"allows_offline_access": true}')
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
}

extension Failure {
  package static let unknownApp = Failure("app_not_found", .notFound)
    .titled("No app has that name.")
    .remedied("Name an app of dossier app list in Dossier-App, or use one of its host names.")
  package static let wireDisabled = Failure("api_disabled", .notFound)
    .titled("This app does not offer this API.")
    .remedied(
      "Enable it, if the app has clients of it: dossier app set --app NAME app_services=true, "
        + "parra=true, auth0_management=true or auth0_dbconnections=true."
    )
  package static let appExists = Failure("app_exists", .conflict)
    .titled("An app with that name already exists.")
    .remedied("Choose another name.")
  package static let appReserved = Failure("app_reserved", .conflict)
    .titled("The app of administrators cannot be deleted.")
    .remedied("Delete single administrators: dossier administrator delete.")
  package static let hostTaken = Failure("host_taken", .conflict)
    .titled("One of the host names belongs to another app.")
    .remedied("Remove the host name from the other app first: dossier app host remove.")
}
