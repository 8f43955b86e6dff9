package import Runtime
import EventLoop
package import JSON
import Postgres

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
      _ = transaction.send(AppsAdministrationQueries.createManagementAPI, id, ResourceServerID())
      Event("app_create", detail: ["name": .string(name)]).record(in: transaction, app: id)
      return try await transaction.run(AppsAdministrationQueries.find, name)
    }.first.orUnforeseen("an app that was made").record(context)
  }

  /// Returns all apps, sorted by name.
  package static func list(_ context: RequestContext) async throws(Failure) -> [AppRecord] {
    try await context.read(AppsAdministrationQueries.list).map { $0.record(context) }
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
        throw .internalError("the stored settings of an app do not parse")
      }
      let (settings, settingFaults) = catalog.changed(stored, by: change.settings)
      let faults = settingFaults + change.hostFaults
      guard faults.isEmpty else { throw .invalid(faults) }
      let hosts = change.hosts ?? before.hosts
      _ = transaction.send(AppsAdministrationQueries.removeHosts, before.id, TextArray(hosts))
      let added = transaction.send(AppsAdministrationQueries.addHosts, before.id, TextArray(hosts))
      let text = TextBytes(settings.serialized())
      _ = transaction.send(AppsAdministrationQueries.change, before.id, text)
      try await added.rows(undone: .hostTaken)
      Event("app_change", detail: change.audited).record(in: transaction, app: before.id)
      let after = try await transaction.run(AppsAdministrationQueries.find, name)
      return try after.first.orUnforeseen("an app that was changed")
    }.record(context)
  }
}

extension AppChange {
  fileprivate var audited: JSON {
    var detail = JSONObject()
    if settings.count > 0 { detail["settings"] = AuditedSettings.shown(settings) }
    if let hosts { detail["hosts"] = .array(hosts.map(JSON.string)) }
    return .object(detail)
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
