import Dossier
import EventLoop
import HTTP
import JSON
import Wiring

/// `/v1/me`.
@EventLoop enum ProfileResource {
  nonisolated static let routes: [Route] =
    [
      Route(
        .get,
        "/v1/me",
        access: .user(scope: Scopes.readUser),
        summary: "Read the profile",
        read
      ),
      Route(
        .patch,
        "/v1/me",
        access: .user(scope: Scopes.updateMetadata),
        body: .patch(limit: 16_384),
        summary: "Change the profile",
        patch
      ),
      Route(
        .delete,
        "/v1/me",
        access: .user(scope: Scopes.updateMetadata),
        summary: "Delete the user and all its data",
        delete
      ),
    ]
    + [Side.own, .programs].map { side in
      Route(
        .get,
        "\(side.prefix)/export",
        access: side.read,
        summary: "Everything that is stored about the user, as one JSON document"
      ) { (call) async throws(Failure) in
        // A program reads by its scopes what they name elsewhere, too.
        if call.asker.client != nil {
          for scope in [Scopes.readAppMetadata, Scopes.readUserLogs] where !call.mayUse(scope) {
            throw .forbidden(scope: scope)
          }
        }
        var response = Response(.ok, json: try await Export.all(of: call.caller, call.context))
        response.add(.contentDisposition, "attachment; filename=\"export.json\"")
        return response
      }
    }

  static func read(_ call: Call) async throws(Failure) -> Response {
    try call.response(with: await Profile.read(of: call.caller, in: call.store))
  }

  static func patch(_ call: Call) async throws(Failure) -> Response {
    let condition = try call.condition
    let profile: StoredDocument
    switch call.body {
    case .jsonPatch(let patch):
      profile = try await Profile.apply(patch, if: condition, of: call.caller, in: call.store)
    case .mergePatch(let patch, _), .json(let patch, _):
      profile = try await Profile.merge(patch, if: condition, of: call.caller, in: call.store)
    case .none, .bytes: throw .unforeseen("a patch without a body")
    }
    try await Audit.recordChange(of: "profile", by: call.caller, call.context)
    return Response(.ok, json: profile.body, tag: EntityTag(profile.version))
  }

  static func delete(_ call: Call) async throws(Failure) -> Response {
    try await Users.delete(
      call.caller,
      if: call.condition,
      call.context
    )
    return Response(.noContent)
  }
}

/// A JSON document of the caller.
struct DocumentResource: Sendable {
  private let document: DocumentClass

  static var routes: [Route] {
    let metadata = DocumentResource(.metadata)
    let appMetadata = DocumentResource(.appMetadata)
    let customData = DocumentResource(.customData)
    return [Side.own, .programs].flatMap { metadata.routes($0) + customData.routes($0) }
      + appMetadata.routes(.programsAppMetadata) + [
        Route(
          .get,
          "/v1/me/app-metadata",
          access: .user(scope: Scopes.readUser),
          summary: "Read the app metadata, where the app lets users do that"
        ) { (call) async throws(Failure) in
          guard try call.context.app.settings.flag(.appMetadataReadable) else {
            throw .forbidden(scope: Scopes.readAppMetadata)
          }
          return try await appMetadata.read(call)
        }
      ]
  }

  private var path: String { document.pathName }

  init(_ document: DocumentClass) { self.document = document }

  private func routes(_ side: Side) -> [Route] {
    let pattern = "\(side.prefix)/\(path)"
    let routes = [
      Route(.get, pattern, access: side.read, summary: "Read the \(path)", read),
      Route(
        .put,
        pattern,
        access: side.write,
        body: .json(limit: document.limit),
        summary: "Replace the \(path)",
        write
      ),
      Route(
        .patch,
        pattern,
        access: side.write,
        body: .patch(limit: document.limit),
        summary: "Change the \(path)",
        write
      ),
    ]
    guard !document.isAlwaysThere else { return routes }
    return routes + [
      Route(.delete, pattern, access: side.write, summary: "Delete the \(path)", delete)
    ]
  }

  @EventLoop func read(_ call: Call) async throws(Failure) -> Response {
    try call.response(with: await Documents.read(document, of: call.caller, in: call.store))
  }

  @EventLoop func write(_ call: Call) async throws(Failure) -> Response {
    let condition = try call.condition
    let change: DocumentChange
    switch call.body {
    case .json(let json, let bytes):
      guard json.object != nil else { throw Self.notAnObject }
      change = .replace(bytes)
    case .mergePatch(let json, let bytes):
      guard json.object != nil else { throw Self.notAnObject }
      change = .merge(bytes)
    case .jsonPatch(let patch): change = .patch(patch)
    case .none, .bytes: throw .unforeseen("a write without a body")
    }
    let (written, isNew) = try await Documents.write(
      document,
      change,
      if: condition,
      of: call.caller,
      call.context
    )
    try await Audit.recordChange(of: path, by: call.caller, call.context)
    let status: Status = isNew && !document.isAlwaysThere ? .created : .ok
    return Response(status, json: written.body, tag: EntityTag(written.version))
  }

  @EventLoop func delete(_ call: Call) async throws(Failure) -> Response {
    try await Documents.delete(document, if: call.condition, of: call.caller, in: call.store)
    try await Audit.recordChange(of: path, by: call.caller, call.context)
    return Response(.noContent)
  }

  private static var notAnObject: Failure {
    .invalid([Fault("", "type", "The document must be an object.")])
  }
}

extension Call {
  /// What the preconditions of a write ask of the stored version.
  var condition: VersionCondition {
    get throws(Failure) {
      var condition = VersionCondition()
      switch preconditions.match {
      case .absent: break
      case .any: condition.mustExist = true
      case .versions(let versions): condition.oneOf = versions
      }
      switch preconditions.noneMatch {
      case .absent: break
      case .any: condition.mustNotExist = true
      case .versions:
        throw .invalid([
          Fault("", "condition", "If-None-Match takes only * for a write; use If-Match.")
        ])
      }
      return condition
    }
  }

  /// The answer to a read, with what its preconditions make of it.
  func response(with stored: StoredDocument) throws(Failure) -> Response {
    if preconditions.match != .absent, !preconditions.match.matches(stored.version) {
      throw .versionMoved(current: stored.version)
    }
    if preconditions.noneMatch.matches(stored.version) {
      var response = Response(.notModified)
      response.add(.entityTag, EntityTag(stored.version).description)
      return response
    }
    return Response(.ok, json: stored.body, tag: EntityTag(stored.version))
  }
}
