import JSON
import EventLoop
import Glibc
package import Runtime
package import Tenancy

/// The next step of an authorization.
package enum AuthorizationStep: Sendable {
  case signIn
  case chooseAccount
  /// The user has to allow the scopes of the list.
  case consent(BrowserUser, [String])
  /// The user has to confirm that this sign-in is to an app on the device.
  case confirm(BrowserUser)
  case finish(BrowserUser)

  /// The signed-in user whom the step is about; nil before a sign-in or a choice.
  package var user: BrowserUser? {
    switch self {
    case .signIn, .chooseAccount: nil
    case .consent(let user, _), .confirm(let user), .finish(let user): user
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
    of authorization: Authorization,
    for client: Client,
    at server: ResourceServer?,
    _ context: RequestContext
  ) async throws(Failure) -> AuthorizationStep {
    let request = authorization.request
    let state = authorization.state
    let users = try await BrowserUsers.list(context)
    guard let user = chosen(of: users, by: authorization) else {
      let canChoose = !users.isEmpty && !request.prompts.contains(.login) && !state.hasAuthenticated
      return request.prompts.contains(.selectAccount) && canChoose ? .chooseAccount : .signIn
    }
    if request.prompts.contains(.selectAccount), state.user == nil { return .chooseAccount }
    guard isFresh(user, for: authorization), client.accepts(user) else { return .signIn }
    if request.prompts.contains(.consent), !state.hasConsented {
      return .consent(user, request.scopes)
    }
    if client.needsConsent(at: server),
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

  /// Returns the user of an authorization: who has signed in or was chosen, or else whom the client
  /// has named, or else the active user.
  private static func chosen(
    of users: [BrowserUser],
    by authorization: Authorization
  ) -> BrowserUser? {
    let request = authorization.request
    if let user = authorization.state.user { return users.first { $0.user == user } }
    if let hinted = request.hintedUser { return users.first { $0.user == hinted } }
    if let hint = request.loginHint,
      let user = users.first(where: {
        $0.email?.lowercased().hasSameBytes(as: hint.lowercased()) == true
      })
    {
      return user
    }
    return users.first { $0.isActive }
  }

  /// Returns whether a user has authenticated as recently as the client asks.
  private static func isFresh(_ user: BrowserUser, for authorization: Authorization) -> Bool {
    let request = authorization.request
    // A sign-in for this authorization is recent enough, even with `max_age=0`.
    if authorization.state.hasAuthenticated { return true }
    guard !request.prompts.contains(.login) else { return false }
    guard let age = request.maxAge else { return true }
    let (latest, overflows) = user.authenticatedAt.addingReportingOverflow(age)
    return overflows || latest >= time(nil)
  }
}

extension Client {
  /// Returns whether a user has signed in in a way that the client accepts.
  package func accepts(_ user: BrowserUser) -> Bool {
    let allowed = settings.connections
    guard !allowed.isEmpty else { return true }
    return ClientSettings.Connection(provider: user.provider).map(allowed.contains) ?? false
  }

  /// Returns whether users are asked before the client gets tokens for a resource server.
  package func needsConsent(at server: ResourceServer?) -> Bool {
    !settings.isFirstParty || server?.skipsConsent == false
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

  /// The scheme, host and port of a web page; nil for an app on a device.
  package var origin: String? {
    guard isOfWeb, let start = url.firstRange(of: "://") else { return nil }
    return String(
      url[..<start.upperBound] + url[start.upperBound...].prefix { !"/?#".contains($0) }
    )
  }
}
