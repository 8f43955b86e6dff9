import Declarations
import EventLoop
import Events
import Federation
import HTTP
import JSON
import LogStreams
import Permissions
import Records
import Representations
import Runtime
import Tenancy
import Webhooks
import WireKit

/// The routes of a record, for the operator: list, create, read, change and delete.
@EventLoop enum RecordResource<R: OwnedRecord> {
  /// Checks a record to create by what only the wire knows.
  typealias Check = @EventLoop @Sendable (JSONObject, App?, Call) throws(Failure) -> Void
  /// Returns whether an administrator must have authenticated recently to create or change members.
  typealias Sensitive = @Sendable (JSONObject) -> Bool
  typealias Change =
    @EventLoop @Sendable (String, AppID?, RecordPatch, VersionCondition, RequestContext)
    async throws(Failure) -> Stored<R>
  typealias Deletion =
    @EventLoop @Sendable (String, AppID?, RequestContext) async throws(Failure) -> Void

  /// In bytes: room for two hundred scopes with long descriptions, and for a key set.
  private nonisolated static var bodyLimit: Int { 262_144 }

  private nonisolated static var words: RecordWords { R.words }

  /// Returns the routes.
  ///
  /// - Parameters:
  ///   - right: the right that an administrator needs; nil for the usual one. With a right of their own, all routes
  ///     need a step-up.
  ///   - isSensitive: whether a creation or a change needs a step-up.
  ///   - check: a further check of a record to create.
  ///   - change: changes a record.
  ///   - delete: deletes a record.
  ///   - forcedDelete: deletes a record with `force=true`, also if users depend on it; nil for none.
  ///   - kept: the errors for records that cannot be deleted.
  ///   - refused: the errors for changes that the domain refuses.
  ///   - refusedNew: likewise for creations.
  /// - Returns: the operations.
  nonisolated static func operations(
    right: AdministratorRight? = nil, sensitive isSensitive: @escaping Sensitive = { _ in false },
    checking check: @escaping Check = { _, _, _ in },
    change: @escaping Change = R.change, delete: @escaping Deletion = R.delete,
    forcing forcedDelete: Deletion? = nil, keeping kept: [Failure] = [],
    refusing refused: [Failure] = [], refusingNew refusedNew: [Failure] = []
  ) -> [Operation] {
    let (all, one) = (words.path, "\(words.path)/{\(words.parameter)}")
    let (reach, namesApp) =
      switch words.app {
      case .selection: (" of the app", false)
      case .member, .memberOrNull: (" of all apps, or of one", true)
      case .nothing: ("", false)
      }
    return [
      Operation(
        .get, all, access: .operator, takes: namesApp ? .query(.app) : .none,
        gives: [.ok(.list(of: R.shape))], summary: "List the \(words.many)\(reach)"
      ) { (call) async throws(Failure) in
        let records = try await R.table.list(of: app(ofListIn: call), call.context)
        return Response(.ok, list: records, \.json)
      }.needing(right),
      Operation(
        .post, all, access: .operator, takes: .body(.json(limit: bodyLimit), R.description),
        gives: [.created(R.made, "The \(words.one).", fields: [.location])],
        refuses: [R.taken] + refusedNew,
        summary: "Create: \(words.meaning)"
      ) { (call) async throws(Failure) in
        var members = try call.json.objectOfBody
        let app = try await Self.app(ofNew: &members, call)
        if isSensitive(members) { try call.requireRecent() }
        try check(members, app, call)
        let made = try await R.create(members, in: app?.id, call.context)
        var response = response(.created, made)
        response.add(.location, "\(words.path)/\(made.key)")
        return response
      }.needing(right, stepUp: right != nil),
      Operation(
        .get, one, access: .operator, versions: .read, gives: [.ok(R.shape)],
        refuses: [R.missing], summary: "Read the \(words.one)"
      ) { (call) async throws(Failure) in
        response(.ok, try await R.find(key(in: call), of: app(of: call), call.context))
      }.needing(right),
      Operation(
        .patch, one, access: .operator, takes: .body(.mergePatch(limit: bodyLimit), R.patch),
        versions: .write, gives: [.ok(R.shape)], refuses: [R.missing, R.taken] + refused,
        summary: "Change the \(words.one); null resets a member, or removes a member of an object"
      ) { (call) async throws(Failure) in
        let members = try call.json.objectOfBody
        if isSensitive(members) { try call.requireRecent() }
        let patch = RecordPatch(members)
        let changed = try await change(
          key(in: call), app(of: call), patch, call.condition, call.context)
        return response(.ok, changed)
      }.needing(right, stepUp: right != nil),
      Operation(
        .delete, one, access: .operator, takes: forcedDelete == nil ? .none : .query(.force),
        gives: [.noContent], refuses: [R.missing] + kept, summary: "Delete the \(words.one)"
      ) { (call) async throws(Failure) in
        var delete = delete
        if let forcedDelete {
          if try call.isForced { delete = forcedDelete }
        }
        try await delete(key(in: call), app(of: call), call.context)
        return Response(.noContent)
      }.needing(right, stepUp: true),
    ]
  }

  /// Returns the app whose records a list has; nil for all.
  private static func app(ofListIn call: Call) async throws(Failure) -> AppID? {
    switch words.app {
    case .selection: try call.namedApp.id
    case .member, .memberOrNull: try await AuditResource.app(in: call)?.id
    case .nothing: nil
    }
  }

  /// Returns the app of a creation, which the request or the member `app` names; nil for a null, and
  /// for a record without an app.
  ///
  /// Only an explicit null makes a record of the operator, so that no omission does.
  private static func app(
    ofNew members: inout JSONObject, _ call: Call
  ) async throws(Failure) -> App? {
    switch words.app {
    case .selection: return try call.namedApp
    case .nothing: return nil
    case .member, .memberOrNull: break
    }
    let named = members["app"]
    members["app"] = nil
    if words.app == .memberOrNull, named == .null {
      try call.context.require(.deployment)
      return nil
    }
    guard let name = named?.string else {
      let fault =
        named == nil
        ? FieldError("/app", "missing", "This member is required.")
        : .wrongType("/app", "a string")
      do throws(Failure) {
        _ = try R.table.checked(RecordPatch(members))
      } catch {
        throw .invalid([fault] + error.faults)
      }
      throw .invalid([fault])
    }
    let app = try await Apps.record(of: name, call.context).app
    // The app of administrators has no wires, and so no records.
    guard app.id != .operators else { throw .unknownApp }
    try call.requireAccess(to: app.id)
    return app
  }

  /// Returns the app in which a key is unique, or the only one that an administrator sees; nil for the
  /// deployment.
  private static func app(of call: Call) throws(Failure) -> AppID? {
    switch words.app {
    case .selection: try call.namedApp.id
    case .member, .memberOrNull: try call.onlyApp?.id
    case .nothing: nil
    }
  }

  /// Returns the key in the path: an id in any case, or a name.
  private static func key(in call: Call) -> String {
    let key = call.text(words.parameter)
    return R.table.shape.column(named: R.table.keyName) == nil ? key.lowercased() : key
  }

  static func response(_ status: Status, _ record: Stored<R>) -> Response {
    Response(status, json: record.json.serialized(), tag: EntityTag(record.version))
  }
}

/// The value of the parameter that changes or deletes a record also if users depend on it.
private enum Force: String, CaseIterable {
  case yes = "true"
}

extension Call {
  /// Whether the request has that parameter.
  ///
  /// - Throws: `.invalid` for another value.
  var isForced: Bool {
    get throws(Failure) {
      let force: Force? = try choice(QueryParameter.force.name)
      return force != nil
    }
  }
}

/// The records that have the routes of `RecordResource` only.
enum RecordResources {
  static let resourceServers = RecordResource<ResourceServerRecord>.operations(
    checking: { (members, app, call) throws(Failure) in
      if let app, let identifier = members["identifier"]?.string {
        try call.context.checkIdentifier(identifier, of: app)
      }
    }, keeping: [.providedAPI])
  // An issuer or a connection signs users in, so its place is as sensitive as a password.
  static let issuers = RecordResource<IssuerRecord>.operations(sensitive: { _ in true })
  static let connections = RecordResource<ConnectionRecord>.operations(
    sensitive: { _ in true },
    delete: ConnectionRecord.deleteIfUnused, forcing: ConnectionRecord.delete,
    keeping: [.connectionInUse])
  static let roles = RecordResource<RoleRecord>.operations()
  static let logStreams = RecordResource<LogStreamRecord>.operations(
    right: .admin, refusing: [.urlNotAllowed, .unknownEventType],
    refusingNew: [.urlNotAllowed, .unknownEventType])
  static let webhooks = RecordResource<WebhookRecord>.operations(
    right: .admin, refusing: [.urlNotAllowed, .unknownEventType],
    refusingNew: [.urlNotAllowed, .unknownEventType])
}
