import Accounts
import Encoding
import EventLoop
import HTTP
import JSON
import Passkeys
import Runtime
import Sessions
import Tenancy
import WireKit

/// `/me/v1`: the passkeys of the user of a token, for the SDKs that call the API "My Account".
///
/// - Source: Auth0, "My Account API".
@EventLoop enum MyAccountRoutes {
  nonisolated static let prefix = "/me"
  private nonisolated static let methods = "\(prefix)/v1/authentication-methods"
  private nonisolated static let method = "\(methods)/{method}"
  private nonisolated static let limit = 65_536

  nonisolated static func own(_ path: Substring) -> Bool {
    path == prefix || path.utf8.starts(with: "\(prefix)/".utf8)
  }

  nonisolated static let routes = [
    Route(
      .get, "\(prefix)/v1/factors", access: .myAccount(AccountAPI.readFactors),
      summary: "List the factors that users may have"
    ) { (call) async throws(Failure) in
      try await call.context.requireSession(of: call.user)
      let body: JSON = ["factors": [["type": "passkey", "usage": AuthenticationMethod.usage]]]
      return Response(.ok, json: body.serialized())
    },
    Route(
      .get, methods, access: .myAccount(AccountAPI.readMethods),
      summary: "List the passkeys of the user"
    ) { (call) async throws(Failure) in
      let type = FormValues(call.request.query)?["type"] ?? AuthenticationMethod.type
      let user = try call.user
      var all: [JSON] = []
      if type.hasSameBytes(as: AuthenticationMethod.type) {
        all = try await Passkeys.list(of: user, call.context).map {
          AuthenticationMethod.json($0, of: user)
        }
      } else {
        try await call.context.requireSession(of: user)
      }
      let body: JSON = ["authentication_methods": .array(all)]
      return Response(.ok, json: body.serialized())
    },
    Route(
      .post, methods, access: .myAccount(AccountAPI.createMethods, proof: .fresh),
      body: .json(limit: limit), summary: "Begin to add a passkey", begin
    ),
    Route(
      .post, "\(method)/verify", access: .myAccount(AccountAPI.createMethods, proof: .fresh),
      body: .json(limit: limit), summary: "Add the passkey", verify
    ),
    Route(
      .get, method, access: .myAccount(AccountAPI.readMethods), summary: "Read a passkey"
    ) { (call) async throws(Failure) in
      try await response(.ok, Passkeys.read(call.passkey, of: call.user, call.context), call)
    },
    Route(
      .patch, method, access: .myAccount(AccountAPI.updateMethods, proof: .fresh),
      body: .json(limit: limit), summary: "Rename a passkey"
    ) { (call) async throws(Failure) in
      let passkey = try call.passkey
      let name = try text("name", call.json)
      try await Passkeys.rename(passkey, to: name, of: call.user, call.context)
      return try await response(.ok, Passkeys.read(passkey, of: call.user, call.context), call)
    },
    Route(
      .delete, method, access: .myAccount(AccountAPI.deleteMethods, proof: .fresh),
      summary: "Remove a passkey"
    ) { (call) async throws(Failure) in
      try await Passkeys.remove(call.passkey, of: call.user, call.context)
      return Response(.noContent)
    },
  ]

  private static func begin(_ call: Call) async throws(Failure) -> Response {
    let (body, user) = (call.json, try call.user)
    let connection = ClientSettings.Connection.password.auth0Name
    for (name, wanted, isRequired) in [
      ("type", AuthenticationMethod.type, true), ("connection", connection, false),
      ("identity_user_id", user.text, false),
    ] {
      guard let value = body[name], value != .null else {
        guard !isRequired else { throw .invalid([.absent(name)]) }
        continue
      }
      guard value.string?.hasSameBytes(as: wanted) == true else {
        throw .invalid([FieldError("/\(name)", "choice", "This member must be \(wanted).")])
      }
    }
    // The SDK for pages decodes no lists of passkeys.
    let begun = try await Passkeys.beginAdding(
      to: user, by: call.clientOfToken, excludesOthers: false, call.context)
    let answer: JSON = [
      "auth_session": .string(begun.flow), "authn_params_public_key": begun.options,
    ]
    var response = Response(.created, json: answer.serialized())
    let id = PercentCoding.encode(AuthenticationMethod.new)
    response.add(.location, "\(call.issuerOrigin)\(methods)/\(id)")
    return response
  }

  private static func verify(_ call: Call) async throws(Failure) -> Response {
    guard call.text("method").hasSameBytes(as: AuthenticationMethod.new) else { throw .notFound }
    let flow = try text("auth_session", call.json)
    guard let credential = call.json["authn_response"] else {
      throw .invalid([.absent("authn_response")])
    }
    let made = try await Passkeys.addKeepingSession(
      credential, flow, to: call.user, by: call.clientOfToken, call.context)
    return try response(.created, made, call)
  }

  private static func response(
    _ status: Status, _ passkey: PasskeyInfo, _ call: Call
  ) throws(Failure) -> Response {
    Response(status, json: AuthenticationMethod.json(passkey, of: try call.user).serialized())
  }

  private static func text(_ name: String, _ body: JSON) throws(Failure) -> String {
    guard let value = body[name]?.string else { throw .invalid([.absent(name)]) }
    return value
  }
}

extension FieldError {
  fileprivate static func absent(_ name: String) -> FieldError {
    FieldError("/\(name)", "required", "This member is required, and of another type.")
  }
}

extension Call {
  /// The client that got the token, which was verified.
  @EventLoop fileprivate var clientOfToken: ClientID {
    get throws(Failure) {
      guard let client = AccessTokens.claimedClient(of: try request.bearerToken) else {
        throw .tokenInvalid
      }
      return client
    }
  }

  /// The passkey of the path.
  @EventLoop fileprivate var passkey: IdentityID {
    get throws(Failure) {
      let id = text("method")
      guard id.utf8.starts(with: AuthenticationMethod.prefix.utf8),
        let found = IdentityID(String(id.dropFirst(AuthenticationMethod.prefix.count)))
      else { throw .notFound }
      return found
    }
  }
}

extension Access {
  /// Returns access for a user with a token of the API "My Account", which has a scope.
  static func myAccount(_ scope: String, proof: Proof = .session) -> Access {
    let kind = BearerKind(
      "access token of the My Account API (\(scope))", isOfForm: AccessTokens.isOfForm
    ) { token, call async throws(Failure) in
      let (context, app) = (call.context, call.context.app.id)
      // A native token names no client. A client that was disabled is refused at once.
      guard let (client, isOfUser) = AccessTokens.claimedOwner(of: token), isOfUser,
        try await Clients.client(client, of: app, context) != nil
      else { throw .tokenInvalid }
      let audience = ProvidedAPI.account.audience(at: call.issuer)
      let principal = try await context.tokens.principal(of: token, app: app, audience: audience)
      guard principal.scopes.contains(scope) else { throw .insufficientScope(scope: scope) }
      return .user(principal)
    }
    return .bearer(kind, proof: proof)
  }
}

/// A passkey as the API shows it.
private enum AuthenticationMethod {
  static let type = "passkey"
  static let prefix = "passkey|"
  /// The id of a method that is not yet added.
  static let new = "passkey|new"
  static let usage: JSON = ["primary"]

  static func json(_ passkey: PasskeyInfo, of user: UserID) -> JSON {
    var json = JSONObject()
    json["id"] = .string(prefix + passkey.id.text)
    json["type"] = .string(type)
    json["name"] = .string(passkey.name)
    json["created_at"] = .string(passkey.createdAt.milliseconds)
    json["last_auth_at"] = (passkey.lastUsedAt?.milliseconds).map(JSON.string)
    json["usage"] = usage
    json["identity_user_id"] = .string(user.text)
    json["key_id"] = .string(passkey.credentialID.base64URL)
    json["public_key"] = .string(passkey.publicKey.paddedBase64)
    json["user_handle"] = .string(passkey.userHandle.base64URL)
    json["credential_device_type"] =
      passkey.isBackupEligible ? "multi_device" : "single_device"
    json["credential_backed_up"] = .bool(passkey.isBackedUp)
    json["aaguid"] = .string(passkey.model)
    json["relying_party_id"] = .string(passkey.relyingPartyID)
    json["transports"] = .array(passkey.transports.map(JSON.string))
    return .object(json)
  }
}

/// An error of the API "My Account".
struct MyAccountError {
  private let failure: Failure
  private let status: Status

  init(_ failure: Failure) {
    self.failure = failure
    status =
      switch failure.type.kind {
      case .invalid, .malformed: .badRequest
      default: failure.type.status
      }
  }

  var json: JSON {
    var json = JSONObject()
    json["type"] = .string("/problems/\(failure.type.code)")
    json["title"] = .string(failure.type.title)
    json["detail"] = .string(failure.explanation)
    json["status"] = .number(JSONNumber(status.code))
    if !failure.faults.isEmpty {
      json["validation_errors"] = .array(
        failure.faults.map { fault in
          [
            "detail": .string(fault.detail), "pointer": .string(fault.place), "source": "body",
            "field": .string(String(fault.place.dropFirst())),
          ]
        })
    }
    return .object(json)
  }

  var response: Response {
    var response = Response(status, json: json.serialized())
    if status == .unauthorized { response.add(.authenticate, literal: "Bearer") }
    return response
  }
}
