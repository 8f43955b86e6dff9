import EventLoop
import JSON
package import Runtime
package import Tenancy

/// The parameters of an authorization request, after they were checked.
///
/// - Source: OpenID Connect Core section 3.1.2.1.
package struct AuthorizationRequest: Sendable {
  package let client: ClientID
  /// Where the response goes: a registered URL, as the client wrote it.
  package let redirect: String
  /// The issuer at which the client has asked, and which alone exchanges its code; empty for the pages.
  package var issuer = ""
  /// Whether the request named it, so that the exchange of the code must repeat it.
  package var namesRedirect = true
  package var mode = ResponseMode.query
  /// The scopes that the client may get, in the order of the request.
  package var scopes: [String] = []
  /// The identifier of the resource server; nil for the profile alone.
  package var audience: String?
  package var state: String?
  package var nonce: String?
  /// The challenge of PKCE; nil without one.
  package var challenge: String?
  package var prompts: Set<Prompt> = []
  /// The greatest age of the sign-in, in seconds.
  package var maxAge: Int?
  package var loginHint: String?
  /// The user of the ID token that the client sent as a hint.
  package var hintedUser: UserID?
  /// The class of authentication that the client asks for; nil for any.
  package var wantedClass: AuthenticationClass?
  /// The way to sign in that the client wants; nil for any.
  package var connection: ClientSettings.Connection?
  /// Scopes that the client asks of the service of that connection.
  package var connectionScopes: [String] = []
  package var startsSignUp = false
  /// Whether a user who is signed in must sign in again, or sign up.
  package var needsSignIn: Bool { !prompts.isDisjoint(with: [.login, .create]) || maxAge == 0 }
  /// The languages of the pages, by preference: tags of BCP 47.
  package var locales: [String] = []

  package init(client: ClientID, redirect: String) {
    self.client = client
    self.redirect = redirect
  }
}

/// How the response reaches the client.
///
/// - Source: OAuth 2.0 Multiple Response Types; Form Post Response Mode; draft-sakimura-oauth-wmrm.
package enum ResponseMode: String, CaseIterable, Sendable {
  case query
  case formPost = "form_post"
  case webMessage = "web_message"
}

/// A class of authentication, as `acr` and `acr_values` name it.
///
/// - Source: OpenID Provider Authentication Policy Extension 1.0 for the second factor, whose name
///   Auth0's SDKs use; OpenID Connect Extended Authentication Profile ACR Values 1.0.
package enum AuthenticationClass: String, CaseIterable, Sendable {
  case secondFactor = "http://schemas.openid.net/pape/policies/2007/06/multi-factor"
  /// A passkey, which only its own domain can ask for.
  case phishingResistant = "phr"

  /// Returns whether users can reach it by these ways to sign in.
  package func isOffered(by methods: SignInMethods) -> Bool {
    self == .secondFactor || methods.takesPasskey
  }

  /// Returns whether the authentication methods of a session reach it.
  package func isMet(by methods: [String]) -> Bool {
    switch self {
    case .secondFactor: methods.contains("mfa")
    case .phishingResistant: methods.contains("pop")
    }
  }
}

/// A page that the client asks for.
///
/// - Source: OpenID Connect Core section 3.1.2.1; Initiating User Registration 1.0 for `create`.
package enum Prompt: String, CaseIterable, Sendable {
  case none
  case login
  case consent
  case selectAccount = "select_account"
  case create
}

extension AuthorizationRequest {
  /// Returns the resource server of the request; nil for the profile alone.
  ///
  /// - Throws: `.databaseUnavailable`.
  @EventLoop package func server(_ context: RequestContext) async throws(Failure) -> ResourceServer?
  {
    guard let audience else { return nil }
    return try await ResourceServers.find(audience, of: context.app.id, context)
  }

  /// Returns the same in a transaction.
  @EventLoop func server(in transaction: Transaction) async throws(Failure) -> ResourceServer? {
    guard let audience else { return nil }
    return try await ResourceServers.find(audience, in: transaction)
  }

  /// The stored form.
  var json: JSON {
    var json = JSONObject()
    json["client"] = .string(client.text)
    json["redirect"] = .string(redirect)
    json["issuer"] = .string(issuer)
    if !namesRedirect { json["names_redirect"] = false }
    json["mode"] = .string(mode.rawValue)
    json["scope"] = .string(scopes.joined(separator: " "))
    json["audience"] = audience.map(JSON.string)
    json["state"] = state.map(JSON.string)
    json["nonce"] = nonce.map(JSON.string)
    json["challenge"] = challenge.map(JSON.string)
    json["prompt"] = .string(prompts.map(\.rawValue).sorted().joined(separator: " "))
    json["max_age"] = maxAge.map { .number(JSONNumber($0)) }
    json["login_hint"] = loginHint.map(JSON.string)
    json["hinted_user"] = hintedUser.map { .string($0.text) }
    json["acr"] = (wantedClass?.rawValue).map(JSON.string)
    json["connection"] = connection.map { .string($0.name) }
    if !connectionScopes.isEmpty {
      json["connection_scope"] = .string(connectionScopes.joined(separator: " "))
    }
    if startsSignUp { json["sign_up"] = true }
    json["locales"] = .string(locales.joined(separator: " "))
    return .object(json)
  }

  /// Reads the stored form; nil if it is damaged.
  init?(_ json: JSON) {
    guard let client = json["client"]?.string.flatMap({ ClientID($0) }),
      let redirect = json["redirect"]?.string,
      let mode = json["mode"]?.string.flatMap(ResponseMode.init)
    else { return nil }
    func words(_ name: String) -> [String] {
      json[name]?.string?.split(separator: " ").map(String.init) ?? []
    }
    self.init(client: client, redirect: redirect)
    issuer = json["issuer"]?.string ?? ""
    namesRedirect = json["names_redirect"] == nil
    self.mode = mode
    scopes = words("scope")
    audience = json["audience"]?.string
    state = json["state"]?.string
    nonce = json["nonce"]?.string
    challenge = json["challenge"]?.string
    prompts = Set(words("prompt").compactMap(Prompt.init))
    maxAge = json["max_age"]?.number?.int
    loginHint = json["login_hint"]?.string
    hintedUser = json["hinted_user"]?.string.flatMap { UserID($0) }
    wantedClass = json["acr"]?.string.flatMap(AuthenticationClass.init)
    connection = json["connection"]?.string.map(ClientSettings.Connection.init(name:))
    connectionScopes = words("connection_scope")
    startsSignUp = json["sign_up"] != nil
    locales = words("locales")
  }
}

extension Client {
  /// Returns whether a URL is registered for responses of a mode.
  ///
  /// A message goes to a web origin only, and its page may name that origin alone. An app on a device
  /// may listen at any port of a loopback address.
  package func mayReceive(at url: String, by mode: ResponseMode?) -> Bool {
    let local = kind == .native ? RedirectTarget(url).withoutLoopbackPort : nil
    let isCallback = settings.callbackURLs.contains { registered in
      if ClientURL.matches(registered, url) { return true }
      let own = RedirectTarget(registered).withoutLoopbackPort
      return local.map { own?.hasSameBytes(as: $0) == true } ?? false
    }
    guard mode == .webMessage else { return isCallback }
    guard let origin = RedirectTarget(url).origin,
      settings.webOrigins.contains(where: { AllowedOrigin.matches($0, origin) })
    else { return false }
    return isCallback || origin.hasSameBytes(as: url)
  }
}
