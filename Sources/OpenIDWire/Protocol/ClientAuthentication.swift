import JSON
import Encoding
import EventLoop
import HTTP
import OpenID
import RateLimiting
import Runtime
import Tenancy
import WireKit

/// Identifies the client of a request to the token endpoint and its siblings.
@EventLoop enum ClientAuthentication {
  /// Returns the response of an endpoint to an authenticated client, or the error of the endpoint.
  ///
  /// `wrong` is the error for a wrong or missing secret.
  static func response(
    to call: Call, wrong: TokenError = .wrongSecret,
    _ body: (TokenParameters, Client) async throws(TokenError) -> Response
  ) async -> Response {
    let parameters = TokenParameters(call)
    // Errors before the client is known have the form of the RFC.
    var profile = ClientSettings.ClaimsProfile.oidc
    do throws(TokenError) {
      let (client, proof) = try await client(parameters, call)
      profile = client.settings.claimsProfile
      try await require(proof, of: client, orThrow: wrong, call)
      return try await body(parameters, client)
    } catch {
      return error.response(to: call, for: profile)
    }
  }

  /// The secret or the signed assertion by which a client authenticates.
  private enum Proof {
    case secret(isRight: Bool)
    case assertion(String)
  }

  /// Returns the client that a request names, and its proof; no proof if the request has none.
  ///
  /// - Parameters:
  ///   - parameters: the body.
  ///   - call: the request.
  /// - Returns: the client, which is not authenticated.
  /// - Throws: the error of the endpoint.
  private static func client(
    _ parameters: TokenParameters, _ call: Call
  ) async throws(TokenError) -> (Client, Proof?) {
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
      throw assertion == nil ? .badRequest("client_id is required.") : .unknownClient
    }
    if let basic, let named = parameters["client_id"], !named.hasSameBytes(as: basic.id) {
      throw .badRequest("client_id is not that of the Basic credentials.")
    }
    let (app, context) = (call.context.app.id, call.context)
    guard let id = ClientID(text) else { throw .unknownClient }
    let secret = basic?.secret ?? parameters["client_secret"]
    let found = try await call.attempt { () async throws(Failure) -> (Client, Proof?)? in
      if let secret {
        return try await Clients.client(id, showing: secret, of: app, context)
          .map { ($0, .secret(isRight: $1)) }
      }
      return try await Clients.client(id, of: app, context)
        .map { ($0, assertion.map(Proof.assertion)) }
    }
    guard let found else { throw .unknownClient }
    return found
  }

  /// Authenticates a client.
  ///
  /// A client with a secret must send it, in the body or as Basic credentials, or an assertion that
  /// it has signed.
  /// - Parameters:
  ///   - proof: the proof of the request; nil without one.
  ///   - client: the client.
  ///   - wrong: the error for a wrong proof.
  ///   - call: the request.
  /// - Throws: `wrong`, or the error of the endpoint after too many wrong secrets.
  private static func require(
    _ proof: Proof?, of client: Client, orThrow wrong: TokenError, _ call: Call
  ) async throws(TokenError) {
    guard !client.kind.isPublic else { return }
    let context = call.context
    let isProven: Bool
    switch proof {
    case .assertion(let assertion):
      isProven = try await call.attempt { () async throws(Failure) in
        try await ClientAssertions.accept(assertion, of: client, for: call.issuer, context)
      }
    case .secret(let isRight): isProven = isRight
    case nil: isProven = false
    }
    guard isProven else {
      try await call.attempt { () async throws(Failure) in
        try await RefusedLogin.record("client-secret", context)
      }
      throw wrong
    }
  }

  private static let assertionType = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
}

/// The parameters of a request to the token endpoint, in JSON or as a form.
struct TokenParameters {
  private let value: @Sendable (String) -> String?
  /// The members of a body in JSON; null for a form.
  private let members: JSON
  private let resources: [String]

  /// Reads the body; a member of another type than string counts as absent.
  @EventLoop init(_ call: Call) {
    switch call.body {
    case .form(let form):
      value = { form[$0] }
      members = .null
      resources = form.all(NamedAPI.resource)
    default:
      let json = call.json
      value = { json[$0]?.string }
      members = json
      let resource = json[NamedAPI.resource]
      resources = (resource?.array.map(Array.init) ?? [resource ?? .null]).map { $0.string ?? "" }
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

  /// Returns a parameter that is an object, or JSON text of one as in a form; nil if it is absent.
  ///
  /// - Throws: `invalid_request` for another value.
  func object(_ name: String) throws(TokenError) -> JSONObject? {
    if let object = members[name]?.object { return object }
    guard let text = self[name] else {
      guard members[name] ?? .null == .null else { throw .badRequest("\(name) must be an object.") }
      return nil
    }
    guard let object = (try? JSON.parse(Array(text.utf8)))?.object else {
      throw .badRequest("\(name) must be an object, or its text in JSON.")
    }
    return object
  }

  /// Returns the API that the request names by `audience` or by `resource`; nil for none.
  ///
  /// - Throws: `invalid_target` if they name several.
  func audience() throws(TokenError) -> String? {
    do throws(NamedAPI.Fault) {
      return try NamedAPI.of(self["audience"], resources)
    } catch {
      throw .invalidTarget(error.description)
    }
  }

  /// The scopes, once each; nil if the client names none.
  var scopes: [String]? {
    self["scope"].map { [String](scopes: $0) }
  }
}

/// The API that a request names, by `audience` or by `resource`.
///
/// - Source: RFC 8707 section 2.
enum NamedAPI {
  static let resource = "resource"

  /// Why a request names no single API, which is `invalid_target`.
  struct Fault: Error {
    let description: String
  }

  /// Returns the description of the error for an audience that no API has.
  static func missing(_ audience: String?) -> String {
    "No resource server has the identifier \((audience ?? "").excerpt(200))."
  }

  /// Returns the API that a request names; nil for none.
  static func of(_ audience: String?, _ resources: [String]) throws(Fault) -> String? {
    guard resources.count < 2 else {
      throw Fault(description: "A token is for one API: send one resource.")
    }
    guard let resource = resources.first, !resource.isEmpty else { return audience }
    if let audience, !audience.isEmpty, !audience.hasSameBytes(as: resource) {
      throw Fault(description: "audience and resource name different APIs.")
    }
    return resource
  }
}
