import Encoding
package import EventLoop
package import JSON
import Permissions
import Records
package import Runtime
import Tenancy
package import Transfer
import WireKit

/// The import of a tenant's configuration into an app.
///
/// It reads each object as the Management API reads a body, and creates or changes it as a request
/// would. First it plans all steps and finds all faults: an object with a fault is refused, and so are
/// those that refer to it. Then it makes one step after the other. So a run that is interrupted is
/// continued by the next, which finds nothing to do for what is done.
@EventLoop package final class TenantImport {
  /// A fault of a file.
  package struct Fault: Sendable {
    package let file: String
    package let error: FieldError
  }

  private let context: RequestContext
  private var steps: [Step] = []
  package private(set) var faults: [Fault] = []
  /// The names of parts that are not imported.
  package let others: [String]

  // MARK: What the app has, and what the steps add

  private var clients: [StoredClient] = []
  private var servers: [ByteString: ResourceServer] = [:]
  private var roles: [ByteString: Role] = [:]
  private var grants: [AppGrant] = []
  /// The scopes that the APIs will have, by their identifiers.
  private var scopes: [ByteString: Set<ByteString>] = [:]
  /// The applications that the plan creates, by their ids if they bring one, and by their names.
  private var planned: [ByteString: ClientKind] = [:]
  private var made: [ByteString: ClientID] = [:]
  private var seen: Set<ByteString> = []
  /// The ids, identifiers and names of refused objects.
  private var refused: Set<ByteString> = []

  /// Plans the import of an export into the app of a context.
  ///
  /// - Throws: `.databaseUnavailable`.
  package init(_ export: TenantExport, _ context: RequestContext) async throws(Failure) {
    self.context = context
    others = export.others
    let app = context.app
    clients = try await ClientRecord.table.list(of: app.id, context)
    for server in try await ResourceServerRecord.table.list(of: app.id, context) {
      let name = ByteString(server.identifier)
      servers[name] = server
      scopes[name] = Set(server.scopes.map { ByteString($0.name) })
    }
    for role in try await RoleRecord.table.list(of: app.id, context) {
      roles[ByteString(role.name)] = role
    }
    grants = try await ClientGrants.list(inApp: context)
    // In the order in which they refer to each other.
    for kind in TenantExport.Kind.allCases {
      for item in export.items where item.kind == kind { try await plan(item) }
    }
  }

  /// Makes the steps of the plan, and stops at the first that fails.
  ///
  /// - Returns: the failure, and the step that has failed; nil if all are made.
  package func run() async -> (failure: Failure, step: JSON)? {
    for index in steps.indices {
      guard let perform = steps[index].perform else { continue }
      do throws(Failure) {
        let (id, secret) = try await perform()
        (steps[index].id, steps[index].secret) = (id, secret)
        steps[index].action = steps[index].action.done
      } catch {
        return (error, steps[index].json)
      }
    }
    return nil
  }

  /// The steps, each with what it does or has done.
  package var json: JSON { .array(steps.map(\.json)) }

  // MARK: The plan

  private func plan(_ item: TenantExport.Item) async throws(Failure) {
    do throws(Failure) {
      if let text = item.placeholder {
        let rule = "Replace the placeholder \(text) of the Deploy CLI by its value."
        throw .invalid([FieldError("", "placeholder", rule)])
      }
      switch item.kind {
      case .resourceServer: try planServer(item)
      case .client: try await planClient(item)
      case .clientGrant: try planGrant(item)
      case .role: try await planRole(item)
      case .connection: steps.append(Step.connection(item))
      }
    } catch let error where !error.faults.isEmpty {
      faults += error.faults.map { Fault(file: item.file, error: $0.inside(item.place)) }
      steps.append(Step.refusal(of: item, error.faults))
      for member in ["client_id", "name", "identifier"] where item.kind != .clientGrant {
        if let name = item.object[member]?.string { refused.insert(ByteString(name)) }
      }
    }
  }

  /// Returns the fault of a reference to an object that is neither in the app nor planned.
  private func missing(_ object: String, _ name: ByteString, _ place: String) -> Failure {
    let rule =
      refused.contains(name)
      ? "The export has this \(object), but it is refused itself."
      : "Neither the export nor the app has this \(object)."
    return .invalid([FieldError(place, "choice", rule)])
  }

  /// - Throws: `.invalid` if an earlier object has the same name.
  private func require(_ name: String, isNewOf item: TenantExport.Item, at place: String)
    throws(Failure)
  {
    guard seen.insert(ByteString("\(item.kind.rawValue) \(name)")).inserted else {
      throw .invalid([FieldError(place, "duplicate", "An earlier object has the same value.")])
    }
  }

  private func planServer(_ item: TenantExport.Item) throws(Failure) {
    var step = Step(item)
    if item.object["is_system"] == true || Self.isManagementAPI(step.name) {
      step.note = "Each app has this API already."
      return steps.append(step)
    }
    let body = try ResourceServerBody(item.object)
    let members = try body.description()
    let identifier = members["identifier"]?.string ?? ""
    try context.checkIdentifier(identifier, of: context.app)
    _ = try Self.checked(RecordPatch(members), of: ResourceServer?.none)
    try require(identifier, isNewOf: item, at: "/identifier")
    step.ignored = body.ignored
    let (name, context, patch) = (ByteString(identifier), context, body.patch)
    if let new = members["scopes"]?.object {
      scopes[name] = Set(new.map { ByteString($0.key) })
    }
    if let server = servers[name] {
      step.id = server.key
      let differences = try Self.checked(patch, of: server)
      step.plan(changing: differences) { () async throws(Failure) in
        _ = try await ResourceServerRecord.change(
          server.key, of: context.app.id, by: patch, if: VersionCondition(), context)
        return (server.key, nil)
      }
    } else {
      scopes[name] = scopes[name] ?? []
      step.planCreation { () async throws(Failure) in
        let made = try await ResourceServerRecord.create(members, in: context.app.id, context)
        return (made.key, nil)
      }
    }
    steps.append(step)
  }

  /// Returns the names of the attributes that a patch changes.
  ///
  /// - Throws: `.invalid`, with the places that the members have in Auth0's API.
  private static func checked<R: OwnedRecord>(
    _ patch: RecordPatch, of stored: Stored<R>?
  ) throws(Failure) -> [String] {
    do throws(Failure) {
      return try R.table.checked(patch, of: stored).change.differences
    } catch {
      throw error.placed(RecordObject<R>.renamed)
    }
  }

  private func planClient(_ item: TenantExport.Item) async throws(Failure) {
    var step = Step(item)
    if item.object["global"] == true {
      step.note = "No application stands for all of an app."
      return steps.append(step)
    }
    let id = item.object["client_id"]?.string
    let body = try ClientBody(item.object)
    let description = try body.description()
    try require(id ?? description.name, isNewOf: item, at: id == nil ? "/name" : "/client_id")
    step.ignored = description.ignored
    let context = context
    if let client = try existing(id, description.name) {
      try body.check(against: client.kind)
      if body.bringsSecret, !step.ignored.contains("client_secret") {
        step.ignored.append("client_secret")
      }
      let patch = RecordPatch(body.members)
      let differences = try Self.checked(patch, of: client)
      step.id = client.key
      step.plan(changing: differences) { () async throws(Failure) in
        _ = try await ClientRecord.change(
          client.key, of: context.app.id, by: patch, if: VersionCondition(), context)
        return (client.key, nil)
      }
    } else {
      _ = try Self.checked(RecordPatch(description.members), of: StoredClient?.none)
      try await requireFree(description.id)
      step.id = description.id
      for name in [id, description.name].compactMap(\.self) {
        planned[ByteString(name)] = description.kind
      }
      step.planCreation { [unowned self] () async throws(Failure) in
        let client = try await ClientRecord.create(
          description.members, in: context.app.id, context)
        for name in [id, client.name].compactMap(\.self) { made[ByteString(name)] = client.id }
        return (client.key, client.newSecret)
      }
    }
    steps.append(step)
  }

  /// Returns the application of the app with an id, or without one, with a name; nil for none.
  private func existing(_ id: String?, _ name: String) throws(Failure) -> StoredClient? {
    if let id { return clients.first { $0.key.hasSameBytes(as: id) } }
    let named = clients.filter { $0.name.hasSameBytes(as: name) }
    guard named.count < 2 else {
      let rule = "Several applications of the app have this name. Export with client_id."
      throw .invalid([FieldError("/name", "choice", rule)])
    }
    return named.first
  }

  /// Checks that no application of another app has an id.
  private func requireFree(_ id: String?) async throws(Failure) {
    guard let id else { return }
    do throws(Failure) {
      _ = try await ClientRecord.table.find(id, of: nil, context)
    } catch .notFound {
      return
    }
    let rule = "An application of another app has this id."
    throw .invalid([FieldError("/client_id", "client_exists", rule)])
  }

  private func planGrant(_ item: TenantExport.Item) throws(Failure) {
    let body = try ClientGrantBody(item.object)
    var step = Step(item)
    step.ignored = body.ignored
    if Self.isManagementAPI(body.audience) {
      step.note = "Grant scopes of the Management API by dossier client grant."
      return steps.append(step)
    }
    try require(step.name, isNewOf: item, at: "/audience")
    let name = ByteString(body.audience)
    try require(scopes: body.scopes, at: name) { "/scope/\($0)" }
    let client = try application(body.client)
    guard let kind = client?.kind ?? planned[ByteString(body.client)] else {
      throw missing("application", ByteString(body.client), "/client_id")
    }
    guard !kind.isPublic else {
      step.note = "An application without a secret has no grants."
      return steps.append(step)
    }
    let before = grants.first { client?.id == $0.client && ByteString($0.grant.identifier) == name }
    let (context, scopes) = (context, body.scopes)
    let perform: Step.Perform = { [unowned self] () async throws(Failure) in
      guard let id = client?.id ?? made[ByteString(body.client)],
        let server = try await ResourceServers.find(body.audience, of: context.app.id, context)
      else { throw .notFound }
      _ = try await ClientGrants.set(scopes, of: id, at: server.id, context)
      return (nil, nil)
    }
    if let before {
      let isSame = Set(before.grant.scopes.map(ByteString.init)) == Set(scopes.map(ByteString.init))
      step.plan(changing: isSame ? [] : ["scope"], perform)
    } else {
      step.planCreation(perform)
    }
    steps.append(step)
  }

  /// Returns the application that a grant names by its id or, as the Deploy CLI does, by its name.
  private func application(_ name: String) throws(Failure) -> StoredClient? {
    if let client = try existing(name, name) { return client }
    return planned[ByteString(name)] == nil ? try existing(nil, name) : nil
  }

  private func planRole(_ item: TenantExport.Item) async throws(Failure) {
    var object = item.object
    let permissions = object["permissions"].flatMap { $0 == .null ? nil : $0 }
    (object["permissions"], object["id"]) = (nil, nil)
    let body = try RoleBody(.object(object))
    guard let name = body.name else { throw .invalid([.missingProperty("name")]) }
    _ = try RoleRecord.table.checked(RecordPatch(body.members))
    try require(name, isNewOf: item, at: "/name")
    var step = Step(item)
    step.ignored = body.ignored
    var wanted: [PermissionReference] = []
    guard let list = (permissions ?? []).array else {
      throw .invalid([.wrongType("/permissions", "an array")])
    }
    for (index, json) in list.enumerated() {
      let place = "/permissions/\(index)"
      let permission = try await Failure.placing({ place + $0 }) { () async throws(Failure) in
        try PermissionReference(json)
      }
      if Self.isManagementAPI(permission.audience) {
        step.ignored.append("permissions.\(index)")
        continue
      }
      try require(scopes: [permission.scope], at: ByteString(permission.audience)) { _ in place }
      wanted.append(permission)
    }
    let role = roles[ByteString(name)]
    var has: [Permission] = []
    if let role {
      has = try await RolePermissions.list(of: role.id, of: context.app.id, context)
    }
    let new = wanted.filter { one in
      !has.contains {
        $0.identifier.hasSameBytes(as: one.audience) && $0.scope.hasSameBytes(as: one.scope)
      }
    }
    let (context, members) = (context, body.members)
    let isDescribed =
      role.map { role in
        members["description"]?.string.map { !$0.hasSameBytes(as: role.description) } ?? false
      } ?? false
    let perform: Step.Perform = { () async throws(Failure) in
      let app = context.app
      let id: RoleID
      if let role {
        id = role.id
        if isDescribed {
          _ = try await RoleRecord.change(
            role.key, of: app.id, by: RecordPatch(members), if: VersionCondition(), context)
        }
      } else {
        id = try await RoleRecord.create(members, in: app.id, context).id
      }
      var names: [PermissionName] = []
      for one in new {
        let server = try await ResourceServers.find(one.audience, of: app.id, context)
        guard let server else { throw .notFound }
        names.append(PermissionName(server.id, one.scope))
      }
      if !names.isEmpty {
        try await RolePermissions.change(.add(names), of: id, of: app.id, context)
      }
      return (RoleName.prefix + id.text, nil)
    }
    if let role {
      step.id = RoleName.prefix + role.id.text
      step.plan(
        changing: (isDescribed ? ["description"] : []) + (new.isEmpty ? [] : ["permissions"]),
        perform
      )
    } else {
      step.planCreation(perform)
    }
    steps.append(step)
  }

  /// Checks that an API will have scopes.
  private func require(
    scopes wanted: [String], at server: ByteString, _ place: (Int) -> String
  ) throws(Failure) {
    guard let known = scopes[server] else { throw missing("API", server, place(0)) }
    let faults = wanted.enumerated().filter { !known.contains(ByteString($1)) }
      .prefix(FieldError.limit)
      .map { FieldError(place($0.offset), "choice", "The API has no such scope.") }
    guard faults.isEmpty else { throw .invalid(faults) }
  }

  /// Returns whether an identifier is that of the Management API of a tenant.
  private static func isManagementAPI(_ identifier: String) -> Bool {
    let suffix = "/\(ProvidedAPI.management.rawValue)".utf8
    return identifier.hasPrefix("https://")
      && identifier.utf8.reversed().starts(with: suffix.reversed())
  }
}

extension TenantImport {
  /// A step of the plan.
  fileprivate struct Step {
    /// Returns the id of the object, and a new secret.
    typealias Perform = @EventLoop () async throws(Failure) -> (id: String?, secret: String?)

    enum Action: String {
      case create, change, unchanged, created, changed, refused
      case notImported = "not imported"

      /// The action of the step after it has been made.
      var done: Action {
        switch self {
        case .create: .created
        case .change: .changed
        default: self
        }
      }
    }

    let kind: TenantExport.Kind
    let file: String
    let name: String
    var action = Action.notImported
    var id: String?
    var changes: [String] = []
    var ignored: [String] = []
    var note: String?
    var secret: String?
    private(set) var perform: Perform?

    init(_ item: TenantExport.Item) {
      (kind, file, name) = (item.kind, item.file, item.name)
    }

    static func refusal(of item: TenantExport.Item, _ errors: [FieldError]) -> Step {
      var step = Step(item)
      step.action = .refused
      step.note = errors.map { "\($0.place): \($0.detail)" }.joined(separator: " ")
      return step
    }

    mutating func planCreation(_ perform: @escaping Perform) {
      (action, self.perform) = (.create, perform)
    }

    mutating func plan(changing members: [String], _ perform: @escaping Perform) {
      changes = members
      action = members.isEmpty ? .unchanged : .change
      if !members.isEmpty { self.perform = perform }
    }

    /// Returns the step of a connection, which the operator sets up.
    static func connection(_ item: TenantExport.Item) -> Step {
      var step = Step(item)
      let strategy = item.object["strategy"]?.string ?? ""
      guard strategy == "auth0" else {
        step.note = "The connection \(strategy) is not imported.".excerpt(200)
        return step
      }
      let options = item.object["options"]?.object ?? JSONObject()
      step.note = "Each app has Username-Password-Authentication. Set its rules by dossier app set."
      step.ignored = options.map { "options.\($0.key)" }
      return step
    }

    var json: JSON {
      var json = JSONObject([
        ("action", .string(action.rawValue)), ("kind", .string(kind.rawValue)),
        ("name", .string(name)),
      ])
      json["id"] = id.map(JSON.string)
      json["secret"] = secret.map(JSON.string)
      if !changes.isEmpty { json["changes"] = .array(changes.map(JSON.string)) }
      if !ignored.isEmpty { json["ignored_members"] = .array(ignored.map(JSON.string)) }
      json["note"] = note.map(JSON.string)
      json["file"] = .string(file)
      return .object(json)
    }
  }
}
