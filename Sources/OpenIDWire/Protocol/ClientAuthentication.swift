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
  /// Returns the client of a request.
  ///
  /// A client with a secret must send it, in the body or as Basic credentials, or an assertion that
  /// it has signed.
  /// - Parameters:
  ///   - parameters: the body.
  ///   - wrong: the error for a wrong secret.
  ///   - call: the request.
  /// - Returns: the client.
  /// - Throws: `.overLimit` after too many wrong secrets; the error of the endpoint; errors of the
  ///   database.
  static func client(
    _ parameters: TokenParameters,
    wrong: TokenError = .wrongSecret,
    _ call: Call
  ) async throws(Failure) -> Result<Client, TokenError> {
    let basic = call.request.field(.authorization).flatMap(BasicCredentials.init)
    if BasicCredentials.areSent(by: call.request), basic == nil {
      return .failure(.badRequest("The Basic credentials are malformed."))
    }
    if basic != nil, parameters["client_secret"] != nil {
      return .failure(.badRequest("The client must authenticate in one way only."))
    }
    let assertion = parameters["client_assertion"]
    if assertion != nil {
      guard parameters["client_assertion_type"]?.hasSameBytes(as: assertionType) == true else {
        return .failure(.badRequest("client_assertion_type must be \(assertionType)."))
      }
      guard basic == nil, parameters["client_secret"] == nil else {
        return .failure(.badRequest("The client must authenticate in one way only."))
      }
    }
    let named = basic?.id ?? parameters["client_id"] ?? assertion.flatMap(Client.named(by:))
    guard let text = named else {
      return .failure(.badRequest("client_id is required."))
    }
    if let basic, let named = parameters["client_id"], !named.hasSameBytes(as: basic.id) {
      return .failure(.badRequest("client_id is not that of the Basic credentials."))
    }
    let (app, context) = (call.context.app.id, call.context)
    guard let id = ClientID(asWritten: text),
      let client = try await Clients.client(id, of: app, context)
    else { return .failure(.unknownClient) }
    guard !client.kind.isPublic else { return .success(client) }
    let isProven: Bool
    if let assertion {
      isProven = client.isProven(by: assertion, at: [call.issuer, call.issuer + "oauth/token"])
    } else if let secret = basic?.secret ?? parameters["client_secret"] {
      isProven = try await Clients.authenticate(id, secret: secret, of: app, context) != nil
    } else {
      isProven = false
    }
    guard isProven else {
      try await RefusedLogin.record("client-secret", context)
      return .failure(wrong)
    }
    return .success(client)
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
