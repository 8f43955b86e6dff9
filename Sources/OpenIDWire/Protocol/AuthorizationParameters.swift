import JSON
import Encoding
import EventLoop
import Federation
import HTTP
import OpenID
import Runtime
import Sessions
import Tenancy
import WireKit
import Records

/// The parameters of `/authorize`.
struct AuthorizationParameters {
  let client: Client
  let request: AuthorizationRequest
  let server: ResourceServer?
  /// Why the client gets an error instead of a code.
  private(set) var error: AuthorizationError?

  /// The longest value that is stored.
  static let longest = 2_048

  /// The parameters that name the client and where it gets the response.
  private static let unique = ["client_id", "redirect_uri", "response_mode", "state"]

  /// Checks the parameters of a request.
  ///
  /// - Throws: `.unknownApplication`, `.unregisteredRedirect`, and `.formMalformed` for parameters that
  ///   cannot be read. These must not be sent to any redirect URI.
  @EventLoop init(_ call: Call) async throws(Failure) {
    let values = try call.parameters(repeating: .any)
    guard
      !values.repeated.contains(where: { name in
        Self.unique.contains { $0.hasSameBytes(as: name) }
      })
    else { throw .formMalformed }
    let context = call.context
    guard let id = values["client_id"].flatMap({ ClientID($0) }),
      let client = try await Clients.client(id, of: context.app.id, context),
      client.kind != .machine
    else { throw .unknownApplication }
    self.client = client
    var request: AuthorizationRequest
    (request, error) = try Self.request(values, of: client, in: context.app)
    request.issuer = call.issuer
    do throws(Failure) {
      let fault: AuthorizationError?
      (server, fault) = try await Self.find(values, client, into: &request, call)
      error = error ?? fault
    } catch {
      guard let told = request.error(for: error) else { throw error }
      call.failure = error
      (server, self.error) = (nil, told)
    }
    self.request = request
  }

  /// Finds the resource server of a request, and the user whom it names by an ID token.
  @EventLoop private static func find(
    _ values: FormValues, _ client: Client, into request: inout AuthorizationRequest, _ call: Call
  ) async throws(Failure) -> (ResourceServer?, AuthorizationError?) {
    let (context, issuer) = (call.context, call.issuer)
    var (server, fault): (ResourceServer?, AuthorizationError?) = (nil, nil)
    var named: String?
    do throws(NamedAPI.Fault) {
      named = try NamedAPI.of(values["audience"], values.all(NamedAPI.resource))
    } catch {
      fault = AuthorizationError("invalid_target", error.description)
    }
    if fault == nil {
      server = try await Provider.server(named: named, at: issuer, context)
      if server == nil { fault = AuthorizationError("invalid_target", NamedAPI.missing(named)) }
    }
    request.audience = server?.identifier
    if fault == nil {
      let requested = RequestedScopes([String](scopes: values["scope"] ?? ""), at: server)
      request.scopes = requested.granted
      do throws(Failure) {
        try requested.check(for: client, at: server, of: issuer, context)
      } catch {
        fault = AuthorizationError("invalid_scope", error.explanation)
      }
    }
    if let token = values["id_token_hint"], !token.isEmpty {
      let hint = try await context.tokens.identity(of: token, app: context.app.id, issuer: issuer)
      request.hintedUser = hint?.user
      // Only the address in the token: a client without the scope `email` must not learn it from
      // the page.
      request.loginHint = request.loginHint ?? hint?.email
      if hint == nil {
        fault = AuthorizationError("invalid_request", "id_token_hint is not a token of this app.")
      }
    }
    return (server, fault)
  }

  /// Reads the parameters that the client alone decides about.
  ///
  /// - Returns: the request, and why the client gets an error instead of a code.
  /// - Throws: `.unregisteredRedirect`.
  static func request(
    _ values: FormValues, of client: Client, in app: App
  ) throws(Failure) -> (AuthorizationRequest, AuthorizationError?) {
    var request = try redirecting(values, client)
    var fault: AuthorizationError?
    do throws(AuthorizationError) {
      try readNames(values)
      try readResponse(values, client, into: &request)
      try readProof(values, client, into: &request)
      try readPrompts(values, into: &request)
      try readConnection(values, client, in: app, into: &request)
    } catch {
      fault = error
    }
    request.state = values["state"]
    request.nonce = values["nonce"]
    request.loginHint = values["login_hint"]?.excerpt(320)
    request.startsSignUp =
      values["screen_hint"] == "signup" || request.prompts.contains(.create)
    // The first value counts that the client's users can reach.
    let methods = SignInMethods(app, client, only: request.connection)
    request.wantedClass = [String](scopes: values["acr_values"] ?? "")
      .compactMap(AuthenticationClass.init).first { $0.isOffered(by: methods) }
    request.locales = Array(
      (values["ui_locales"] ?? "").excerpt(200).split(separator: " ").prefix(10)
    )
    .map(String.init)
    for name in ["state", "nonce"] where (values[name]?.utf8.count ?? 0) > longest {
      fault = AuthorizationError("invalid_request", "\(name) has more than \(longest) bytes.")
      if name == "state" { request.state = nil } else { request.nonce = nil }
    }
    return (request, fault)
  }

  // MARK: Where the response goes

  private static func redirecting(
    _ values: FormValues, _ client: Client
  ) throws(Failure) -> AuthorizationRequest {
    let registered = client.settings.callbackURLs
    let named = values["redirect_uri"] ?? ""
    // Without a redirect URI, the only registered one counts.
    let redirect = named.isEmpty && registered.count == 1 ? registered[0] : named
    let mode = values["response_mode"].flatMap(ResponseMode.init)
    guard client.mayReceive(at: redirect, by: mode) else {
      throw .unregisteredRedirect(redirect, client: client.name)
    }
    var request = AuthorizationRequest(client: client.id, redirect: redirect)
    request.namesRedirect = !named.isEmpty
    return request
  }

  /// - Source: RFC 6749 section 3.1: no parameter may be repeated. RFC 8707 section 2: a resource may.
  private static func readNames(_ values: FormValues) throws(AuthorizationError) {
    let again = values.repeated.first { !$0.hasSameBytes(as: NamedAPI.resource) }
    guard let again else { return }
    throw AuthorizationError("invalid_request", "\(again.excerpt(100)) occurs more than once.")
  }

  private static func readResponse(
    _ values: FormValues, _ client: Client, into request: inout AuthorizationRequest
  ) throws(AuthorizationError) {
    if let mode = values["response_mode"], !mode.isEmpty {
      guard let mode = ResponseMode(rawValue: mode) else {
        throw AuthorizationError(
          "invalid_request", "response_mode must be query, form_post or web_message."
        )
      }
      request.mode = mode
    }
    for name in ["request", "request_uri"] where values[name] != nil {
      throw AuthorizationError("\(name)_not_supported", "\(name) is not supported.")
    }
    guard let type = values["response_type"] else {
      throw AuthorizationError("invalid_request", "response_type is required; it must be code.")
    }
    guard type == "code" else {
      throw AuthorizationError("unsupported_response_type", "response_type must be code.")
    }
    // SDKs that name an organization refuse tokens without it.
    if values["organization"]?.isEmpty == false {
      throw AuthorizationError(
        "invalid_request", "parameter organization is not allowed for this client"
      )
    }
  }

  // MARK: Proof and prompts

  private static func readProof(
    _ values: FormValues, _ client: Client, into request: inout AuthorizationRequest
  ) throws(AuthorizationError) {
    guard let challenge = values["code_challenge"] else {
      guard !client.requiresPKCE else {
        throw AuthorizationError(
          "invalid_request",
          "code_challenge is required: this client must use PKCE, with the method S256."
        )
      }
      guard values["code_challenge_method"] == nil else {
        throw AuthorizationError("invalid_request", "code_challenge_method needs code_challenge.")
      }
      return
    }
    guard values["code_challenge_method"] == "S256" else {
      throw AuthorizationError("invalid_request", "code_challenge_method must be S256.")
    }
    guard [UInt8](base64URL: challenge)?.count == 32 else {
      throw AuthorizationError(
        "invalid_request",
        "code_challenge must be the SHA-256 hash of the verifier in base64url, 43 characters."
      )
    }
    request.challenge = challenge
  }

  private static func readPrompts(
    _ values: FormValues, into request: inout AuthorizationRequest
  ) throws(AuthorizationError) {
    for word in (values["prompt"] ?? "").split(separator: " ") {
      guard let prompt = Prompt(rawValue: String(word)) else {
        throw AuthorizationError(
          "invalid_request",
          "The value of prompt must be none, or some of login, consent, select_account and create."
        )
      }
      request.prompts.insert(prompt)
    }
    if request.prompts.contains(.none), request.prompts.count > 1 {
      throw AuthorizationError("invalid_request", "prompt=none must be the only value.")
    }
    if let age = values["max_age"], !age.isEmpty {
      guard let seconds = Int(age), seconds >= 0 else {
        throw AuthorizationError("invalid_request", "max_age must be a number of seconds.")
      }
      request.maxAge = seconds
    }
  }

  private static func readConnection(
    _ values: FormValues, _ client: Client, in app: App, into request: inout AuthorizationRequest
  ) throws(AuthorizationError) {
    guard let name = values["connection"], !name.isEmpty else { return }
    let builtIn = ClientSettings.Connection.builtIn.first { $0.auth0Name.hasSameBytes(as: name) }
    let service = app.connections.named(name).map { ClientSettings.Connection.named($0.key) }
    guard let connection = builtIn ?? service, client.settings.allows(connection) else {
      throw AuthorizationError("invalid_request", "the connection was not found")
    }
    request.connectionScopes = Array([String](scopes: values["connection_scope"] ?? "").prefix(50))
    request.connection = connection
  }
}
