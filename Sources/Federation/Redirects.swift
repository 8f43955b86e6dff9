import Delivery
import Encoding
package import EventLoop
import Glibc
import JSON
package import OpenIDClient
import RateLimiting
import Outbound
package import Runtime
import Sessions
import Tenancy
import Records

/// Sends browsers to the services of connections, and reads what they bring back.
@EventLoop package enum Redirects {
  /// The wishes of a client for a sign-in at a service.
  package struct Wishes: Sendable {
    /// Scopes beside those of the connection; those that it does not list are left out.
    package var scopes: [String] = []
    /// Whether the user authenticates there again.
    package var asksAgain = false
    /// Whether the user chooses an account there.
    package var choosesAccount = false
    package var loginHint: String?
    package var locales: [String] = []

    package init() {}
  }

  /// Returns the URL at which a user signs in at a service.
  ///
  /// It writes nothing.
  /// - Parameters:
  ///   - connection: the connection.
  ///   - state: what the redirect brings back.
  ///   - browser: the key of the browser.
  ///   - issuer: the issuer of the app, with its slash.
  ///   - wishes: what the client asks.
  ///   - context: the context of the request.
  /// - Returns: the URL.
  /// - Throws: `.connectionUnavailable`, `.overloaded`.
  package static func url(
    at connection: Connection, _ state: RedirectState, in browser: String, of issuer: String,
    _ wishes: Wishes = Wishes(), _ context: RequestContext
  ) async throws(Failure) -> String {
    let provider = try await context.provider(of: connection)
    var redirect = AuthorizationRedirect(
      clientID: connection.clientID, redirectURI: uri(of: connection, issuer),
      state: try state.text(for: browser, context))
    let usual = connection.usualScopes
    let more = wishes.scopes.filter { scope in
      connection.connectionScopes.contains(where: scope.hasSameBytes)
        && !usual.contains(where: scope.hasSameBytes)
    }
    redirect.scopes = usual + more
    redirect.nonce = state.nonce(context)
    redirect.verifier = state.verifier(context)
    if state.needsProof { redirect.maximumAge = 0 }
    if wishes.asksAgain {
      redirect.prompts = ["login"]
    } else if wishes.choosesAccount, wishes.loginHint == nil {
      redirect.prompts = ["select_account"]
    }
    redirect.loginHint = wishes.loginHint
    redirect.domain = connection.domains.count == 1 ? connection.domains[0] : nil
    redirect.locales = wishes.locales
    return redirect.url(at: provider)
  }

  /// Returns the redirect URI that operators register at the service.
  ///
  /// Each connection has its own, so that no service can pass for another.
  /// - Source: RFC 9700 section 4.4.2.
  package nonisolated static func uri(of connection: Connection, _ issuer: String) -> String {
    uri(ofConnection: connection.key, issuer)
  }

  /// Returns the redirect URI of the connection with a name.
  package nonisolated static func uri(ofConnection name: String, _ issuer: String) -> String {
    "\(issuer)\(callbackPath)\(name)"
  }

  /// The path of each redirect URI before the name of its connection.
  private nonisolated static let callbackPath = "u/callback/"

  /// Returns the account of the user who comes back from a service.
  ///
  /// It calls the service, and opens no transaction.
  /// - Parameters:
  ///   - response: the response.
  ///   - browser: the key of the browser, which must have begun the redirect; nil without one.
  ///   - issuer: the issuer of the app, with its slash.
  ///   - context: the context of the request.
  /// - Returns: the account; nil if the user has cancelled.
  /// - Throws: `.redirectStateInvalid`, `.unknownConnection`, `.connectionFailed`,
  ///   `.connectionUnavailable`, `.identityNotAllowed`, `.freshSignInUnproved`, `.overloaded`,
  ///   `.tooManyAttempts`, `.databaseUnavailable`.
  package static func account(
    from response: RedirectResponse, in browser: String?, of issuer: String,
    _ context: RequestContext
  ) async throws(Failure) -> ConnectedAccount? {
    guard response.state.isOf(browser, context) else { throw .redirectStateInvalid }
    guard let connection = context.app.connections.named(response.state.connection) else {
      throw .unknownConnection
    }
    try await countAttempt(context)
    let provider = try await context.provider(of: connection)
    let state = response.state
    return try await checked(connection, context) { () async throws(SignInFault) in
      try SignInFault.rule { () throws(OpenIDClientError) in
        try provider.verifyIssuer(of: response.parameters)
      }
      let code: String
      switch response.parameters.outcome {
      case .code(let given): code = given
      case .error(let error, _) where provider.isCancellation(error):
        ConnectionUse.note(.cancelled, at: connection, context)
        return nil
      case .error(let error, let description):
        throw .engine(.refused(code: error, description: description))
      }
      let grant = try SignInFault.rule { () throws(OpenIDClientError) in
        try CodeGrant(
          code, redirectURI: uri(of: connection, issuer),
          verifier: provider.usesPKCE ? state.verifier(context) : nil)
      }
      let exchange = CodeExchange(
        grant: grant, nonce: .exactly(state.nonce(context)), name: response.parameters.name)
      return try await exchange.account(
        at: provider, of: connection, isFresh: state.needsProof, context)
    }
  }

  /// The native apps for which a code is tried.
  private static let mostNativeApps = 5

  /// Returns the account of a code that the SDK of a service has given to an app.
  ///
  /// - Parameters:
  ///   - code: the code.
  ///   - redirectURI: the redirect URI of the request for the code; nil if it had none.
  ///   - verifier: the secret of the code challenge; nil if there was none.
  ///   - nonce: the nonce of the request; nil for none.
  ///   - name: a name that came with it unsigned, for a new user; nil for none.
  ///   - connection: the connection.
  ///   - isFresh: whether the user must have authenticated there just now.
  ///   - context: the context of the request.
  /// - Returns: the account.
  /// - Throws: as `account(from:)`; `.invalid` for a redirect URI of this server;
  ///   `.invalidExternalToken` if the service refuses the code, or if the ID token breaks a rule.
  package static func account(
    byCode code: String, redirectURI: String?, verifier: String?, nonce: String?,
    name: StatedName? = nil, of connection: Connection, isFresh: Bool = false,
    _ context: RequestContext
  ) async throws(Failure) -> ConnectedAccount {
    // A code for a page of this server was begun in a browser, and only that browser may use it.
    guard redirectURI?.lowercased().contains("/\(callbackPath)") != true else {
      let rule = "This is a page of this server. Send the redirect URI of the app."
      throw .invalid([FieldError("/redirect_uri", "own_page", rule)])
    }
    try await countAttempt(context)
    return try await checked(connection, isOfApp: true, context) { () async throws(SignInFault) in
      let grant = try SignInFault.rule { () throws(OpenIDClientError) in
        try CodeGrant(code, redirectURI: redirectURI, verifier: verifier)
      }
      let provider = try await SignInFault.failure { () async throws(Failure) in
        try await context.upstream.provider(of: connection)
      }
      var exchange = CodeExchange(
        grant: grant, nonce: nonce.map { .valueOrHash($0) } ?? .unused, name: name)
      // A code of Apple is of the native app that has asked for it, and does not name it.
      let isOfNativeApp = connection.preset.authentication == .signedSecret && redirectURI == nil
      var others = isOfNativeApp ? Array(connection.audiences.prefix(mostNativeApps)) : []
      exchange.client = others.isEmpty ? nil : others.removeFirst()
      while true {
        do throws(SignInFault) {
          return try await exchange.account(at: provider, of: connection, isFresh: isFresh, context)
        } catch .engine(.refused) where !others.isEmpty {
          exchange.client = others.removeFirst()
        }
      }
    }
  }

  /// The path of the page to which a service leads back after a sign-out there, without its slash.
  package nonisolated static let signedOutPath = "oidc/logout/done"

  /// Returns the URL at which a user signs out of a service too; nil if it has none, or does not answer.
  ///
  /// The service then leads back, if the operator has registered `signedOutPath` of the issuer there.
  /// - Parameters:
  ///   - connection: the connection.
  ///   - state: what the service brings back.
  ///   - issuer: the issuer of the app, with its slash.
  ///   - context: the context of the request.
  /// - Returns: the URL.
  /// - Throws: `.overloaded`.
  package static func signOutURL(
    at connection: Connection, _ state: String, of issuer: String, _ context: RequestContext
  ) async throws(Failure) -> String? {
    do throws(Failure) {
      return try await context.upstream.provider(of: connection)
        .signOutURL(
          clientID: connection.clientID, redirectURI: "\(issuer)\(signedOutPath)", state: state)
    } catch let error where error.is(.connectionUnavailable) {
      // The user is signed out here all the same.
      return nil
    }
  }

  /// Returns the account of an ID token that the SDK of a service has given to an app.
  ///
  /// - Parameters:
  ///   - token: the ID token.
  ///   - nonce: the nonce of the request; nil for none.
  ///   - code: a code that came with it, whose refresh token the identity keeps; nil for none.
  ///   - name: a name that came with it unsigned, for a new user; nil for none.
  ///   - connection: the connection.
  ///   - isFresh: whether the user must have authenticated there just now.
  ///   - context: the context of the request.
  /// - Returns: the account.
  /// - Throws: as `account(byCode:)`.
  package static func account(
    byToken token: String, nonce: String?, code: String? = nil, name: StatedName? = nil,
    of connection: Connection, isFresh: Bool = false, _ context: RequestContext
  ) async throws(Failure) -> ConnectedAccount {
    if code != nil { try await countAttempt(context) }
    let provider = try await context.provider(of: connection)
    return try await checked(connection, isOfApp: true, context) { () async throws(SignInFault) in
      let rules = IDTokenRules(
        provider, audiences: [connection.clientID] + connection.audiences,
        nonce: nonce.map { .valueOrHash($0) } ?? .unused, accessToken: nil)
      let claims = try await verified(token, by: rules, at: provider, of: connection, context)
      if isFresh { try requireFresh(claims, context) }
      var account = try SignInFault.rule { () throws(OpenIDClientError) in
        ConnectedAccount(
          try profile(
            claims, [], by: connection.record.mapping, at: provider, of: connection, stated: name),
          claims, of: connection)
      }
      if let code, provider.revocationURL != nil, connection.sealed != nil {
        account.identity.refreshToken = await refreshToken(
          of: code, claims, account.identity, at: provider, of: connection, context)
      }
      return account
    }
  }

  /// Returns the refresh token of a code that came with a verified ID token; nil without one.
  ///
  /// The ID token alone has proved the user. So the sign-in goes on without the refresh token if the
  /// service refuses the code or does not answer, and the log says so.
  private static func refreshToken(
    of code: String, _ claims: IDTokenClaims, _ identity: ExternalTokens.Identity,
    at provider: Provider, of connection: Connection, _ context: RequestContext
  ) async -> ExternalTokens.RefreshToken? {
    let client = connection.client(among: claims.members["aud"])
    do throws(SignInFault) {
      let grant = try SignInFault.rule { () throws(OpenIDClientError) in
        try CodeGrant(code, redirectURI: nil, verifier: nil)
      }
      let exchange = CodeExchange(grant: grant, nonce: .unused, name: nil, client: client)
      let found = try await exchange.account(at: provider, of: connection, isFresh: false, context)
        .identity
      let isSame =
        found.provider == identity.provider && found.subject.hasSameBytes(as: identity.subject)
      guard isSame else {
        throw .engine(.invalidIDToken(rule: "the code is of another user than the ID token"))
      }
      return found.refreshToken
    } catch {
      context.mailer.report(
        "connection \(connection.key): no refresh token is kept of a sign-in: \(error.rule)")
      return nil
    }
  }

  /// Counts a sign-in for which a service is asked, before it is.
  ///
  /// So no network causes calls without end. An ID token alone causes none: its keys are known.
  /// - Throws: `.tooManyAttempts`, `.databaseUnavailable`.
  static func countAttempt(_ context: RequestContext) async throws(Failure) {
    try await RateLimitSet(RateLimit.ofNetwork(.service, context), context).spend()
  }

  /// Runs a sign-in, and maps what is wrong with it; records a failed one in the audit log.
  ///
  /// - Parameters:
  ///   - connection: the connection.
  ///   - isOfApp: whether an app has sent the code or token, which may then be a wrong one.
  ///   - context: the context of the request.
  ///   - work: the sign-in.
  /// - Returns: what it returns.
  /// - Throws: the failure that its fault means, `.databaseUnavailable`.
  static func checked<Value>(
    _ connection: Connection, isOfApp: Bool = false, _ context: RequestContext,
    _ work: @EventLoop () async throws(SignInFault) -> Value
  ) async throws(Failure) -> Value {
    try await ConnectionUse.noteFailure(at: connection, context) { () async throws(Failure) in
      do throws(SignInFault) { return try await work() } catch {
        let failure = failure(for: error, of: connection, isOfApp: isOfApp)
        if !failure.is(.connectionUnavailable), !failure.is(.overloaded) {
          let provider = connection.provider?.text ?? "jwt"
          try await RefusedLogin.record(provider, connection: connection.key, context)
        }
        throw failure
      }
    }
  }

  private static func failure(
    for error: SignInFault, of connection: Connection, isOfApp: Bool
  ) -> Failure {
    switch error {
    case .failure(let failure): return failure
    case .engine(.tenantNotAllowed), .engine(.domainNotAllowed):
      return .identityNotAllowed(reason: nil)
    // The service refuses the app, which only its operator can mend.
    case .engine(.refused("invalid_client", _)), .engine(.refused("unauthorized_client", _)),
      .engine(.invalidSettings), .engine(.invalidClientSecret):
      return .connectionUnavailable(
        retryAfter: .seconds(30), reason: "connection \(connection.key): \(error.rule)")
    // The explanation of a service is for the log only.
    case .engine(.refused(let code, _)) where isOfApp:
      return .invalidExternalToken(rule: "its service has answered \(code)")
    case .engine(.invalidIDToken(let rule)) where isOfApp,
      .engine(.invalidGrant(let rule)) where isOfApp:
      return .invalidExternalToken(rule: rule)
    case .engine(.invalidUserinfo(let rule)) where isOfApp:
      return .invalidExternalToken(rule: "of the profile, \(rule)")
    case .engine:
      return .connectionFailed(reason: "connection \(connection.key): \(error.rule)")
    }
  }
}
