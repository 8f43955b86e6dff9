import JSON
import Encoding
import EventLoop
import HTTP
import OpenID
import Runtime
import Sessions
import Tenancy
import WireKit

/// Identifies the client of a request to the token endpoint and its siblings.
@EventLoop enum ClientAuthentication {
  /// Returns the response of an endpoint to an authenticated client, or the error of the endpoint.
  ///
  /// `wrong` is the error for a wrong or missing secret.
  static func response(
    to call: Call,
    wrong: TokenError = .wrongSecret,
    _ body: (TokenParameters, Client) async throws(TokenError) -> Response
  ) async -> Response {
    let parameters = TokenParameters(call)
    do throws(TokenError) {
      return try await body(parameters, client(parameters, wrong: wrong, call))
    } catch {
      return error.response(to: call)
    }
  }

  /// Returns the client of a request.
  ///
  /// A client with a secret must send it, in the body or as Basic credentials, or an assertion that
  /// it has signed.
  /// - Parameters:
  ///   - parameters: the body.
  ///   - wrong: the error for a wrong secret.
  ///   - call: the request.
  /// - Returns: the client.
  /// - Throws: the error of the endpoint, also after too many wrong secrets.
  private static func client(
    _ parameters: TokenParameters,
    wrong: TokenError,
    _ call: Call
  ) async throws(TokenError) -> Client {
    let basic = call.request.field(.authorization).flatMap(BasicCredentials.init)
    if BasicCredentials.areSent(by: call.request), basic == nil {
      throw .badRequest("The Basic credentials are malformed.")
    }
    if basic != nil, parameters["client_secret"] != nil {
      throw .badRequest("The client must authenticate in one way only.")
    }
    let assertion = parameters["client_assertion"]
    if assertion != nil {
      guard parameters["client_assertion_type"]?.hasSameBytes(as: assertionType) == true else {
        throw .badRequest("client_assertion_type must be \(assertionType).")
      }
      guard basic == nil, parameters["client_secret"] == nil else {
        throw .badRequest("The client must authenticate in one way only.")
      }
    }
    let named = basic?.id ?? parameters["client_id"] ?? assertion.flatMap(Client.named(by:))
    guard let text = named else {
      throw .badRequest("client_id is required.")
    }
    if let basic, let named = parameters["client_id"], !named.hasSameBytes(as: basic.id) {
      throw .badRequest("client_id is not that of the Basic credentials.")
    }
    let (app, context) = (call.context.app.id, call.context)
    guard let id = ClientID(asWritten: text),
      let client = try await call.attempt({ () async throws(Failure) in
        try await Clients.client(id, of: app, context)
      })
    else { throw .unknownClient }
    guard !client.kind.isPublic else { return client }
    let isProven: Bool
    if let assertion {
      isProven = client.isProven(by: assertion, at: [call.issuer, call.issuer + "oauth/token"])
    } else if let secret = basic?.secret ?? parameters["client_secret"] {
      isProven = try await call.attempt { () async throws(Failure) in
        try await Clients.authenticate(id, secret: secret, of: app, context) != nil
      }
    } else {
      isProven = false
    }
    guard isProven else {
      try await call.attempt { () async throws(Failure) in
        try await RefusedLogin.record("client-secret", context)
      }
      throw wrong
    }
    return client
  }

  private static let assertionType = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
}

/// The parameters of a request to the token endpoint, in JSON or as a form.
struct TokenParameters {
  private let value: @Sendable (String) -> String?

  /// Reads the body; a member of another type than string counts as absent.
  @EventLoop init(_ call: Call) {
    switch call.body {
    case .form(let form): value = { form[$0] }
    default:
      let json = call.json
      value = { json[$0]?.string }
    }
  }

  /// Returns a parameter; nil if it is absent, null or empty, which SDKs send alike.
  subscript(_ name: String) -> String? {
    value(name).flatMap { $0.isEmpty ? nil : $0 }
  }

  /// Returns a parameter; throws `invalid_request` if it is absent.
  func required(_ name: String) throws(TokenError) -> String {
    guard let value = self[name] else { throw .badRequest("\(name) is required.") }
    return value
  }

  /// The scopes, once each; nil if the client names none.
  var scopes: [String]? {
    self["scope"].map { [String](scopes: $0) }
  }
}

extension ClientID {
  /// Reads the id of a client, which is compared by its bytes: tokens repeat it as their audience.
  init?(asWritten text: String) {
    guard let id = Self(text), id.text.hasSameBytes(as: text) else { return nil }
    self = id
  }
}
