import Dossier
import EventLoop
import HTTP
import JSON
import Wiring

/// `/v1/me`.
@EventLoop enum ProfileResource {
  nonisolated static let operations: [Operation] =
    [
      Operation(
        .get,
        "/v1/me",
        access: .user(scope: Scopes.readUser),
        versions: .read,
        gives: [.ok(.profile)],
        summary: "Read the profile",
        read
      ),
      Operation(
        .patch,
        "/v1/me",
        access: .user(scope: Scopes.updateMetadata),
        body: .patch(limit: 16_384),
        takes: .profilePatch,
        versions: .write,
        gives: [.ok(.profile)],
        refuses: [.patchTestFailed, .patchNotApplicable],
        summary: "Change the profile",
        patch
      ),
      Operation(
        .delete,
        "/v1/me",
        access: .user(scope: Scopes.updateMetadata, proof: .fresh),
        versions: .write,
        gives: [.noContent],
        summary: "Delete the user and all its data",
        delete
      ),
    ]
    + [BasePath.me, .users].map { base in
      Operation(
        .get,
        "\(base.prefix)/export",
        access: base.read,
        gives: [.ok(.object, "All of it.")],
        summary: "Everything that is stored about the user, as one JSON document"
      ) { (call) async throws(Failure) in
        var response = Response(.ok, json: try await Export.all(of: call.caller, call.context))
        response.add(.contentDisposition, "attachment; filename=\"export.json\"")
        return response
      }
    }

  static func read(_ call: Call) async throws(Failure) -> Response {
    Response(.ok, try await Profile.read(of: call.caller, in: call.store))
  }

  static func patch(_ call: Call) async throws(Failure) -> Response {
    let condition = try call.condition
    let profile: StoredDocument
    switch call.body {
    case .jsonPatch(let patch):
      profile = try await Profile.apply(patch, if: condition, of: call.caller, call.context)
    case .mergePatch(let patch, _), .json(let patch, _):
      profile = try await Profile.merge(patch, if: condition, of: call.caller, call.context)
    case .none, .form, .multipart, .bytes: throw .unforeseen("a patch without a body")
    }
    return Response(.ok, profile)
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
