import Encoding
import EventLoop
import Glibc
import JSON
import OpenIDClient
import Outbound
import Runtime
import Sessions
import Tenancy
import WebTokens
import Records

/// The exchange of a code for the account of a user: the last calls of a sign-in at a service.
@EventLoop struct CodeExchange {
  let grant: CodeGrant
  let nonce: IDTokenRules.NonceRule
  /// A name that came with the code, unsigned, for a new user.
  let name: StatedName?
  /// The client id that has asked for the code; nil for that of the connection.
  var client: String?

  /// Returns the account.
  ///
  /// - Parameters:
  ///   - provider: the service.
  ///   - connection: the connection.
  ///   - isFresh: whether the user must have authenticated there just now.
  ///   - context: the context of the request.
  /// - Returns: the account.
  /// - Throws: `SignInFault` with the rule that an answer breaks, or a failure.
  func account(
    at provider: Provider, of connection: Connection, isFresh: Bool, _ context: RequestContext
  ) async throws(SignInFault) -> ConnectedAccount {
    let credentials = try SignInFault.failure { () throws(Failure) in
      try connection.credentials(as: client, context)
    }
    let request = try SignInFault.rule { () throws(OpenIDClientError) in
      try TokenRequest(exchanging: grant, credentials, at: provider, now: time(nil))
    }
    let answer = try await Self.send(HTTPCall(request), context, connection)
    let tokens = try SignInFault.rule { () throws(OpenIDClientError) in
      try TokenResponse(status: answer.status, body: answer.body, of: provider)
    }
    var claims: IDTokenClaims?
    if let token = tokens.idToken {
      let rules = IDTokenRules(
        provider, audiences: [client ?? connection.clientID], nonce: nonce,
        accessToken: tokens.accessToken)
      claims = try await Redirects.verified(token, by: rules, at: provider, of: connection, context)
    }
    if isFresh { try Redirects.requireFresh(claims, context) }
    let profile = try await Self.profile(
      claims, tokens.accessToken, credentials, at: provider, of: connection, stated: name, context)
    var account = ConnectedAccount(profile, claims, of: connection)
    if provider.revocationURL != nil, let text = tokens.refreshToken {
      account.identity.refreshToken = ExternalTokens.RefreshToken(
        text, connection: connection.key, client: credentials.id, issuer: provider.issuer)
    }
    return account
  }

  /// Returns the profile of a user who may sign in by the connection.
  ///
  /// It asks the service for what the ID token lacks.
  static func profile(
    _ claims: IDTokenClaims?, _ accessToken: String, _ credentials: ClientCredentials,
    at provider: Provider, of connection: Connection, stated: StatedName? = nil,
    _ context: RequestContext
  ) async throws(SignInFault) -> ProviderProfile {
    var userinfo: [Userinfo] = []
    let mapping = try SignInFault.rule { () throws(OpenIDClientError) in
      try connection.record.mapping
    }
    let requests = provider.userinfoRequests(
      after: claims, mapping: mapping, accessToken: accessToken, credentials)
    for request in requests {
      var call = HTTPCall(request.url)
      call.authorize(byBearer: request.bearer)
      let answer = try await send(call, context, connection)
      let read = try SignInFault.rule { () throws(OpenIDClientError) in
        try request.answer(status: answer.status, body: answer.body)
      }
      if let read { userinfo.append(read) }
    }
    return try SignInFault.rule { () throws(OpenIDClientError) in
      try Redirects.profile(
        claims, userinfo, by: mapping, at: provider, of: connection, stated: stated)
    }
  }

  static func send(
    _ call: HTTPCall, _ context: RequestContext, _ connection: Connection
  ) async throws(SignInFault) -> HTTPAnswer {
    try await SignInFault.failure { () async throws(Failure) in
      try await context.upstream.send(call, to: connection, from: context.address)
    }
  }
}

extension Redirects {
  /// Checks that a service states that the user has just authenticated there.
  ///
  /// A silent redirect gets a new `iat` too, so only `auth_time` counts.
  static func requireFresh(
    _ claims: IDTokenClaims?, _ context: RequestContext
  ) throws(SignInFault) {
    let age = context.app.sessionSettings.proofLifetime.wholeSeconds
    guard let at = claims?.authenticatedAt, at > time(nil) - age else {
      throw .failure(.freshSignInUnproved)
    }
  }

  /// Verifies an ID token, and returns its claims.
  static func verified(
    _ text: String, by rules: IDTokenRules, at provider: Provider, of connection: Connection,
    _ context: RequestContext
  ) async throws(SignInFault) -> IDTokenClaims {
    let token = try SignInFault.rule { () throws(OpenIDClientError) in
      try IDTokenRules.parse(text)
    }
    let isSigned = try await SignInFault.failure { () async throws(Failure) in
      try await context.upstream.hasSigned(
        token, provider, of: connection, for: context.address.network)
    }
    guard isSigned else {
      throw .engine(.invalidIDToken(rule: "its signature is not the issuer's"))
    }
    return try SignInFault.rule { () throws(OpenIDClientError) in
      try rules.verify(token, now: time(nil))
    }
  }

  /// Returns the profile of a user who may sign in by the connection.
  static func profile(
    _ claims: IDTokenClaims?, _ userinfo: [Userinfo], by mapping: ProfileMapping,
    at provider: Provider, of connection: Connection, stated: StatedName?
  ) throws(OpenIDClientError) -> ProviderProfile {
    let profile = try ProviderProfile(
      from: provider, claims, userinfo, mapping: mapping, stated: stated)
    try profile.verifyAccess(
      tenants: connection.tenants, domains: connection.domains, trust: connection.emailTrust)
    return profile
  }
}

/// Why a sign-in at a service ends: an answer that breaks a rule, or a failure.
enum SignInFault: Error {
  case engine(OpenIDClientError)
  case failure(Failure)

  var rule: String {
    switch self {
    case .engine(let error): error.rule
    case .failure(let failure): failure.type.code
    }
  }

  @EventLoop static func rule<Value>(
    _ work: @EventLoop () throws(OpenIDClientError) -> Value
  ) throws(SignInFault) -> Value {
    do throws(OpenIDClientError) { return try work() } catch { throw .engine(error) }
  }

  @EventLoop static func failure<Value>(
    _ work: @EventLoop () throws(Failure) -> Value
  ) throws(SignInFault) -> Value {
    do throws(Failure) { return try work() } catch { throw .failure(error) }
  }

  @EventLoop static func failure<Value>(
    _ work: @EventLoop () async throws(Failure) -> Value
  ) async throws(SignInFault) -> Value {
    do throws(Failure) { return try await work() } catch { throw .failure(error) }
  }
}

extension ConnectedAccount {
  /// Creates the account that a service has described.
  nonisolated init(
    _ profile: ProviderProfile, _ claims: IDTokenClaims?, of connection: Connection
  ) {
    var members = JSONObject()
    func add(_ name: String, _ value: String?) { members[name] = value.map(JSON.string) }
    add("name", profile.name)
    add("given_name", profile.givenName)
    add("family_name", profile.familyName)
    add("nickname", profile.nickname)
    add("locale", profile.locale)
    let email = profile.trustedEmail(connection.emailTrust)
    add("email", email)
    var kept = IdentityClaims()
    for (name, value) in members { kept.add(name, value) }
    kept.add("email", profile.email.map(JSON.string))
    kept.add("picture", profile.picture.map(JSON.string))
    var identity = ExternalTokens.Identity(
      provider: IdentityProvider(ofIssuer: profile.issuer), subject: profile.subject,
      authenticatedAt: claims?.authenticatedAt, signedInAt: claims?.authenticatedAt ?? 0,
      profile: members, claims: kept)
    identity.provesEmail = email != nil
    identity.session = claims?.sessionID
    identity.pictureURL = profile.picture
    identity.refreshesNames = connection.record.refreshesProfile
    let hasFactor = connection.trustsSecondFactor && claims?.methods.contains("mfa") == true
    self.init(connection, identity, hasSecondFactor: hasFactor)
  }
}

extension HTTPCall {
  /// Creates the call of a request to a token endpoint.
  ///
  /// - Source: RFC 6749 section 2.3.1.
  init(_ request: TokenRequest) {
    self.init(request.url, form: request.form)
    guard let (user, password) = request.basic else { return }
    let pair = "\(PercentCoding.encode(user)):\(PercentCoding.encode(password))"
    fields.append(("Authorization", "Basic \(Array(pair.utf8).paddedBase64)"))
  }
}
