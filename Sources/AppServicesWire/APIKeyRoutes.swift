import Accounts
import Encoding
import Runtime
import EventLoop
import HTTP
import JSON
import WireKit

/// The API keys of a user: `/auth/api_keys`, with the refresh token.
///
/// Routes that create or enable a login method are sensitive. Routes that only remove or disable one
/// are not.
@EventLoop enum APIKeyRoutes {
  nonisolated static let routes =
    [
      Route(
        .post, path, access: .refreshToken, body: .json(limit: 4_096).lenient(assuming: .json),
        summary: "Make an API key, which is shown this once", make
      ),
      Route(.get, path, access: .refreshToken, summary: "List the API keys") {
        (call) async throws(Failure) in
        let keys = try await APIKeys.list(of: call.user, call.context)
        return Response(.ok, json: JSON.array(keys.map(shown)).serialized())
      },
      Route(.get, keyPath, access: .refreshToken, summary: "Read an API key") {
        (call) async throws(Failure) in
        let keys = try await APIKeys.list(of: call.user, call.context)
        guard let key = keys.first(where: { $0.id.text == call.text("key") })
        else { return ServiceError.noSuchKey.response(to: call) }
        return Response(.ok, json: shown(key).serialized())
      },
      Route(.delete, keyPath, access: .refreshToken, summary: "Delete an API key") {
        (call) async throws(Failure) in
        try await changing(call) { (key) async throws(Failure) in
          // The id may belong to another kind of identity.
          let keys = try await APIKeys.list(of: call.user, call.context)
          guard keys.contains(where: { $0.id == key }) else { throw .notFound }
          try await requireOtherOpener(than: key, call)
          try await Identities.unlink(IdentityID(trusted: key.text), from: call.user, call.context)
        }
      },
    ]
    + [("enable", false), ("disable", true)].map { action, isDisabled in
      Route(.put, "\(keyPath)/\(action)", access: .refreshToken, summary: "\(action) an API key") {
        (call) async throws(Failure) in
        if !isDisabled { try await call.requireProof() }
        return try await changing(call) { (key) async throws(Failure) in
          if isDisabled { try await requireOtherOpener(than: key, call) }
          try await APIKeys.setDisabled(isDisabled, key, of: call.user, call.context)
        }
      }
    }

  private nonisolated static let path = "\(AppServicesWire.authPrefix)/api_keys"
  private nonisolated static let keyPath = "\(path)/{key}"

  private static func make(_ call: Call) async throws(Failure) -> Response {
    try await call.requireProof()
    guard let name = call.json["name"]?.string, !name.isEmpty else {
      return ServiceError(.badRequest, "'name' is a required string", .missingParameter).response(
        to: call
      )
    }
    guard name.utf8.allSatisfy(isAllowed) else {
      return ServiceError(
        .badRequest,
        "API key name can only contain ASCII letters, numbers, underscores, and hyphens",
        .invalidParameter
      ).response(to: call)
    }
    // With a key, the user's identities no longer show that the user began as anonymous.
    try await UserOrigins.note(anonymous: call.user, call.context)
    let made: APIKeys.Made
    do throws(Failure) {
      made = try await APIKeys.make(name, isSingle: true, for: call.user, call.context)
    } catch .identityExists {
      return ServiceError(.conflict, "API key with name already exists", .keyExists)
        .response(to: call)
    }
    let body: JSON = [
      "_id": .string(made.id.text), "key": .string(made.key), "name": .string(name),
      "disabled": false,
    ]
    return Response(.created, json: body.serialized())
  }

  /// Throws `.insufficientScope` if the key has opened the session, which then cannot remove it.
  private static func requireOtherOpener(than key: APIKeyID, _ call: Call) async throws(Failure) {
    let opener = try await APIKeys.opener(of: call.user, call.context)
    guard opener != key else { throw .insufficientScope(scope: Scopes.updateIdentities) }
  }

  private static func changing(
    _ call: Call, by body: @EventLoop (APIKeyID) async throws(Failure) -> Void
  ) async throws(Failure) -> Response {
    do throws(Failure) {
      try await body(call.captured("key"))
    } catch .notFound {
      return ServiceError.noSuchKey.response(to: call)
    }
    return Response(.noContent)
  }

  private nonisolated static func shown(_ key: APIKeyInfo) -> JSON {
    ["_id": .string(key.id.text), "name": .string(key.name), "disabled": .bool(key.isDisabled)]
  }

  private nonisolated static func isAllowed(_ byte: UInt8) -> Bool {
    byte.isLetterOrDigit || "_-".utf8.contains(byte)
  }
}
