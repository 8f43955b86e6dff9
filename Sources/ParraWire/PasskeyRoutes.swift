import Encoding
import EventLoop
import HTTP
import JSON
import Passkeys
import Runtime
import WireKit

/// Passkeys: the ceremonies, each in two requests, which end with a code for the token route.
///
/// The SDK keeps the flow in a header field.
@EventLoop enum PasskeyRoutes {
  /// The greatest length of a body with a credential, in bytes.
  private nonisolated static let limit = 16_384

  nonisolated static func routes(_ base: String) -> [Route] {
    [
      IssuerRoutes.route(
        "\(base)/webauthn/register/challenge", "Begin the sign-up of a user by passkey"
      ) { (call) async throws(Failure) in
        guard let email = call.json["username"]?.string else {
          throw .invalid([FieldError("/username", "type", "username is a required string.")])
        }
        let begun = try await Passkeys.beginImmediateRegistration(
          PasskeyRegistration(email: email), call.context)
        return try response(begun, creation(begun.options))
      },
      IssuerRoutes.route(
        "\(base)/webauthn/register", limit: limit, "Verify a new passkey, for a code"
      ) { (call) async throws(Failure) in try await verified(call, .register) },
      IssuerRoutes.route(
        "\(base)/webauthn/authenticate/challenge", "Begin a sign-in by passkey"
      ) { (call) throws(Failure) in
        // The SDK reads the ids of a list of passkeys wrongly, so a name gets no list.
        let begun = try Passkeys.beginSignIn(call.context)
        return try response(begun, begun.options)
      },
      IssuerRoutes.route(
        "\(base)/webauthn/authenticate", limit: limit, "Verify a passkey, for a code"
      ) { (call) async throws(Failure) in try await verified(call, .signIn) },
    ]
  }

  private static func response(
    _ begun: Passkeys.Begun, _ options: JSON
  ) throws(Failure) -> Response {
    var response = Response(.ok, json: options.serialized())
    response.add(.webAuthnSession, begun.flow)
    return response
  }

  /// Returns options of a creation as the SDK reads them.
  ///
  /// It takes the bytes of the text `user.id` as user handle, and requires each member of
  /// `authenticatorSelection`.
  private static func creation(_ options: JSON) throws(Failure) -> JSON {
    guard var all = options.object, var user = all["user"]?.object,
      var selection = all["authenticatorSelection"]?.object,
      let handle = user["id"]?.string.flatMap({ [UInt8](base64URL: $0) })
    else { throw .internalError(reason: "options of a passkey without a user") }
    user["id"] = .string(String(decoding: handle, as: UTF8.self))
    selection["authenticatorAttachment"] = "platform"
    all["user"] = .object(user)
    all["authenticatorSelection"] = .object(selection)
    return .object(all)
  }

  private static func verified(
    _ call: Call, _ purpose: PasskeyCeremony.Purpose
  ) async throws(Failure) -> Response {
    guard let flow = call.request.field(.webAuthnSession) else { throw .passkeyFlowExpired }
    let code = try await Passkeys.code(for: call.json, flow, purpose, call.context)
    let body: JSON = [
      "status": "success", "message": "The passkey is verified.", "token": .string(code),
    ]
    return Response(.ok, json: body.serialized())
  }
}

extension FieldName {
  static let webAuthnSession = FieldName("PARRA-WEBAUTHN-SESSION")
}
