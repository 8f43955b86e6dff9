import Accounts
import EventLoop
import HTTP
import JSON
import OpenID
import Passkeys
import Runtime
import Sessions
import Tenancy
import WireKit

/// `/passkey/challenge` and `/passkey/register`, which begin what the token endpoint ends.
///
/// - Source: Auth0, "Native passkeys API".
@EventLoop enum PasskeyRoutes {
  nonisolated static let routes = [
    Route(
      .post, "/passkey/challenge", access: .open, body: .token.lenient(assuming: .json),
      summary: "Begin a sign-in by passkey, which the client ends at the token endpoint"
    ) { call in
      await response(to: call) { (_, client) throws(Failure) in
        try Passkeys.beginSignIn(by: client.id, call.context)
      }
    },
    Route(
      .post, "/passkey/register", access: .open, body: .token.lenient(assuming: .json),
      summary: "Begin the registration of a user by passkey"
    ) { call in
      await response(to: call) { (parameters, client) async throws(Failure) in
        let registration = try PasskeyRegistration(parameters)
        return try await Passkeys.beginImmediateRegistration(
          registration, by: client.id, call.context)
      }
    },
  ]

  private static func response(
    to call: Call,
    _ verb: @EventLoop (StatedUser, Client) async throws(Failure) -> Passkeys.Begun
  ) async -> Response {
    await ClientAuthentication.response(to: call, wrong: .invalidClient) {
      (parameters, client) async throws(TokenError) in
      guard call.context.app.passkeySettings.isOpen else {
        throw TokenError(.notFound, "not_found", Failure.passkeysOff.type.title)
      }
      guard DirectGrant.passkey.isAllowed(for: client, in: call.context.app) else {
        throw .badRequest("This client may not sign users in with passkeys.")
      }
      try parameters.checkRealm(.password)
      let user = StatedUser(
        profile: try parameters.object("user_profile"),
        metadata: try parameters.object("user_metadata"))
      let begun: Passkeys.Begun
      do throws(Failure) {
        begun = try await verb(user, client)
      } catch {
        throw refusal(error, call)
      }
      let body: JSON = [
        "auth_session": .string(begun.flow), "authn_params_public_key": begun.options,
      ]
      return Response(.ok, json: body.serialized())
    }
  }

  /// Returns the error: each refusal of what the client states is `invalid_request`.
  private static func refusal(_ failure: Failure, _ call: Call) -> TokenError {
    let error = call.error(for: failure)
    switch failure.type.kind {
    case .malformed, .invalid, .conflict, .forbidden, .tooLarge:
      guard let fault = failure.faults.first else {
        return .badRequest(failure.detail ?? failure.type.title)
      }
      return .badRequest(fault.place.isEmpty ? fault.detail : "\(fault.place): \(fault.detail)")
    default: return error
    }
  }
}

/// The statements of a request about a new user.
private struct StatedUser {
  let profile: JSONObject?
  let metadata: JSONObject?
}

extension PasskeyRegistration {
  /// The members of `user_profile` that name members of the profile.
  private static let members = [
    "name": "name", "given_name": "given_name", "family_name": "family_name",
    "nickname": "nickname", "phone_number": "phone", "picture": "picture_url",
  ]
  /// The fields of metadata that a stranger may write, and their length.
  private static let (mostFields, longestField) = (10, 500)

  /// - Throws: `.invalid` with every fault.
  fileprivate init(_ user: StatedUser) throws(Failure) {
    var (email, profile, faults) = (String?.none, JSONObject(), [FieldError]())
    for (name, value) in user.profile ?? JSONObject() where value != .null && value != "" {
      let place = "/user_profile/\(JSONPointer.escaped(name))"
      guard let text = value.string else {
        faults.append(.wrongType(place, "a string"))
        continue
      }
      if name == "email" {
        email = text
      } else if let member = Self.members[name] {
        profile[member] = .string(text)
      } else {
        let known = (["email"] + Self.members.keys).sorted().joined(separator: ", ")
        faults.append(FieldError(place, "unknown_member", "The members are \(known)."))
      }
    }
    let metadata = user.metadata ?? JSONObject()
    if metadata.count > Self.mostFields
      || !metadata.allSatisfy({
        ($0.value.string?.unicodeScalars.count ?? .max) <= Self.longestField
      })
    {
      let rule =
        "It may have at most \(Self.mostFields) strings of \(Self.longestField) characters."
      faults.append(FieldError("/user_metadata", "length", rule))
    }
    guard faults.isEmpty else { throw .invalid(faults) }
    self.init(email: email, profile: profile, metadata: metadata)
  }
}

extension TokenParameters {
  /// Checks the connection that a request may name.
  func checkRealm(_ connection: ClientSettings.Connection) throws(TokenError) {
    guard self["realm"]?.hasSameBytes(as: connection.auth0Name) != false else {
      throw .badRequest("realm must be \(connection.auth0Name).")
    }
    guard self["organization"] == nil else {
      throw .badRequest("parameter organization is not allowed for this client")
    }
  }
}

extension DirectExchange {
  /// Returns the tokens for the result of a ceremony, a sign-in or a registration.
  func tokensByPasskey() async throws(TokenError) -> IssuedTokens {
    let context = call.context
    try parameters.checkRealm(.password)
    let flow = try parameters.required("auth_session")
    guard let credential = try parameters.object("authn_response") else {
      throw .badRequest("authn_response is required.")
    }
    return try await complete(
      try await signIn(), wrong: .invalidGrant("The passkey does not sign this user in.")
    ) { style async throws(Failure) in
      try await Passkeys.finish(.object(credential), flow, by: client.id, as: style, context)
    }
  }
}
