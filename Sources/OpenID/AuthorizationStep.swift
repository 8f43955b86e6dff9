import Accounts
import JSON
import EventLoop
import Federation
import Glibc
package import Runtime
package import Tenancy
import Records

/// The next step of an authorization.
package enum AuthorizationStep: Sendable {
  case signIn
  /// The user has to sign in again, with a second factor or a passkey.
  case stepUp(BrowserUser)
  /// The user has signed in, and has to show a passkey as well.
  case showPasskey(BrowserUser)
  case chooseAccount
  /// The signed-in user is not the user of the ID token that the client sent.
  case otherUser(BrowserUser)
  /// The user has to allow the scopes of the list.
  case consent(BrowserUser, [String])
  /// The user has to confirm that this sign-in is to an app on the device.
  case confirm(BrowserUser)
  case finish(BrowserUser)

  /// The signed-in user whom the step is about; nil before a sign-in or a choice.
  package var user: BrowserUser? {
    switch self {
    case .signIn, .chooseAccount: nil
    case .stepUp(let user), .showPasskey(let user), .otherUser(let user), .consent(let user, _),
      .confirm(let user), .finish(let user):
      user
    }
  }
}

extension Authorizations {
  /// Returns the next step of an authorization.
  ///
  /// - Parameters:
  ///   - authorization: the authorization.
  ///   - client: its client.
  ///   - server: the resource server of the request; nil for none.
  ///   - context: the context of a request of the same browser.
  /// - Returns: the step.
  /// - Throws: `.databaseUnavailable`.
  package static func step(
    of authorization: Authorization, for client: Client, at server: ResourceServer?,
    _ context: RequestContext
  ) async throws(Failure) -> AuthorizationStep {
    let request = authorization.request
    let state = authorization.state
    let all = try await BrowserUsers.all(context)
    let users = all.filter { !$0.lacksFactor }
    guard let user = try await chosen(of: users, by: authorization, context) else {
      if let user = try await chosen(of: all, by: authorization, context) {
        return .stepUp(user)
      }
      let canChoose =
        request.hintedUser == nil && !request.needsSignIn && !state.hasAuthenticated
      guard canChoose else { return .signIn }
      if request.prompts.contains(.selectAccount) {
        return try await BrowserUsers.areKnown(context) ? .chooseAccount : .signIn
      }
      // If the active user signs out, no other user of the browser becomes active without a choice.
      return users.isEmpty || request.loginHint != nil ? .signIn : .chooseAccount
    }
    if let hinted = request.hintedUser, user.user != hinted { return .otherUser(user) }
    if request.prompts.contains(.selectAccount), state.user == nil { return .chooseAccount }
    guard isFresh(user, for: authorization), client.accepts(user, in: context.app) else {
      return .signIn
    }
    if let wanted = request.wantedClass, !wanted.isMet(by: user.methods) {
      if !state.hasAuthenticated { return .stepUp(user) }
      // A user without a second factor goes on. A passkey can be made at once.
      if wanted == .phishingResistant { return .showPasskey(user) }
    }
    if request.prompts.contains(.consent), !state.hasConsented {
      return .consent(user, request.scopes)
    }
    if client.needsConsent(to: request, at: server),
      let missing = try await Consents.missing(request, of: user.user, context)
    {
      return .consent(user, missing)
    }
    if client.settings.confirmsSignIn, !state.hasActed,
      RedirectTarget(request.redirect).isUnverifiable
    {
      return .confirm(user)
    }
    return .finish(user)
  }

  /// Returns the user who has to authenticate again for an authorization; nil without one.
  ///
  /// The client asks for it, and the user is signed in already: the active one, or whom the client
  /// has named.
  /// - Throws: `.databaseUnavailable`.
  package static func stepUpUser(
    of authorization: Authorization, _ context: RequestContext
  ) async throws(Failure) -> BrowserUser? {
    let request = authorization.request
    guard authorization.state.user == nil, !request.prompts.contains(.selectAccount),
      request.prompts.contains(.login) || request.maxAge != nil || request.wantedClass != nil
    else { return nil }
    let users = try await BrowserUsers.list(context)
    if let hinted = request.hintedUser { return users.first { $0.user == hinted } }
    if let hint = request.loginHint { return try await users.first(ofEmail: hint, context) }
    return users.first { $0.isActive }
  }

  /// Returns the user of an authorization: who has signed in or was chosen, or else whom the client
  /// has named, or else the active user.
  private static func chosen(
    of users: [BrowserUser], by authorization: Authorization, _ context: RequestContext
  ) async throws(Failure) -> BrowserUser? {
    let request = authorization.request
    if let user = authorization.state.user { return users.first { $0.user == user } }
    if let hinted = request.hintedUser { return users.first { $0.user == hinted } }
    if let hint = request.loginHint, let user = try await users.first(ofEmail: hint, context) {
      return user
    }
    return users.first { $0.isActive }
  }

  /// Returns whether a user has authenticated as recently as the client asks.
  private static func isFresh(_ user: BrowserUser, for authorization: Authorization) -> Bool {
    let request = authorization.request
    // A sign-in for this authorization is recent enough, even with `max_age=0`.
    if authorization.state.hasAuthenticated { return true }
    guard !request.needsSignIn else { return false }
    guard let age = request.maxAge else { return true }
    let (latest, overflows) = user.authenticatedAt.addingReportingOverflow(age)
    return overflows || latest >= time(nil)
  }
}

extension [BrowserUser] {
  /// Returns the first user who has an address; nil without one.
  ///
  /// - Throws: `.databaseUnavailable`.
  @EventLoop fileprivate func first(
    ofEmail address: String, _ context: RequestContext
  ) async throws(Failure) -> BrowserUser? {
    let key = try await EmailAddress(address, context).key
    for user in self {
      guard let email = user.email else { continue }
      if try await EmailAddress(email, context).key.hasSameBytes(as: key) { return user }
    }
    return nil
  }
}

extension Client {
  /// Returns whether a user has signed in in a way that the client accepts.
  package func accepts(_ user: BrowserUser, in app: App) -> Bool {
    let service = app.connections.connection(of: user.provider).map {
      ClientSettings.Connection.named($0.key)
    }
    return settings.allows(service ?? ClientSettings.Connection(provider: user.provider))
  }

  /// Returns whether users are asked before the client gets tokens for a resource server.
  package func needsConsent(at server: ResourceServer?) -> Bool {
    !settings.isFirstParty || server?.skipsConsent == false
  }

  /// Returns whether users are asked before a request gets a code.
  ///
  /// Any program of the user's machine can answer at localhost, but for the address of the issuer.
  func needsConsent(to request: AuthorizationRequest, at server: ResourceServer?) -> Bool {
    let isOwn = request.redirect.utf8.starts(with: request.issuer.utf8)
    return needsConsent(at: server) || RedirectTarget(request.redirect).isLocalhost && !isOwn
  }
}

/// The URL that a response goes to.
package struct RedirectTarget: Sendable {
  package let url: String

  package init(_ url: String) { self.url = url }

  package var scheme: String { String(url.prefix { $0 != ":" }).lowercased() }

  /// The host, or the scheme of an app on a device; for people.
  package var name: String {
    guard isOfWeb, let start = url.firstRange(of: "://") else { return scheme }
    return String(url[start.upperBound...].prefix { !"/?#".contains($0) })
  }

  package var isOfWeb: Bool { scheme == "https" || scheme == "http" }

  /// Whether any app of the user's device could receive the response.
  ///
  /// - Source: RFC 8252 section 8.6.
  package var isUnverifiable: Bool { scheme != "https" }

  /// Whether the host is `localhost`, at any port.
  var isLocalhost: Bool {
    isOfWeb && name.lowercased().prefix { $0 != ":" }.utf8.elementsEqual("localhost".utf8)
  }

  /// The URL without its port, if it is at a loopback address; nil for other URLs.
  ///
  /// An app on a device listens at any free port.
  /// - Source: RFC 8252 section 7.3.
  package var withoutLoopbackPort: String? {
    for host in ["http://127.0.0.1", "http://[::1]"] where url.utf8.starts(with: host.utf8) {
      let rest = url.utf8.dropFirst(host.utf8.count)
      guard rest.first == UInt8(ascii: ":") else { return Self.isEnd(rest) ? url : nil }
      let digits = rest.dropFirst().prefix { $0 >= UInt8(ascii: "0") && $0 <= UInt8(ascii: "9") }
      let path = rest.dropFirst(1 + digits.count)
      guard (1...5).contains(digits.count), digits.first != UInt8(ascii: "0"),
        let port = Int(Substring(digits)), port <= 65_535, Self.isEnd(path)
      else { return nil }
      return host + String(Substring(path))
    }
    return nil
  }

  /// Returns whether nothing more of the host follows.
  private static func isEnd(_ rest: Substring.UTF8View) -> Bool {
    rest.first.map { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "?") } ?? true
  }

  /// The scheme, host and port of a web page; nil for an app on a device.
  package var origin: String? {
    guard isOfWeb, let start = url.firstRange(of: "://") else { return nil }
    return String(
      url[..<start.upperBound] + url[start.upperBound...].prefix { !"/?#".contains($0) }
    )
  }
}
