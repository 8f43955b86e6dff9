package import EventLoop
import Glibc
package import JSON
package import Outbound
package import Postgres
package import Runtime
import WebTokens
import Records

/// Verifies the tokens of an app's external issuers, which identify its users.
@EventLoop package final class ExternalTokens: DomainService {
  private let database: Database
  private let source: HTTPSource
  private let master: MasterKey
  /// Fetched key sets, by the app's id and the operator's name for the issuer.
  private var fetched: [String: FetchedKeys] = [:]
  /// Key sets that operators have stored, by the same name, with their source text.
  private var written: [String: (text: [UInt8], keys: IssuerKeys)] = [:]

  /// The tolerated clock difference between the issuer and us, in seconds.
  private static let leeway = 60

  package init(database: Database, source: HTTPSource, keys: Keyring) {
    self.database = database
    self.source = source
    master = keys.master
  }

  /// The content of a verified token, or what a connection has learned of its user.
  package struct Identity: Sendable {
    /// `jwt:` and the `iss`, so that users stay the same if the operator renames the issuer.
    package let provider: IdentityProvider
    package let subject: String
    /// When the issuer last authenticated the user, in seconds since 1970; nil if the token does not
    /// state it.
    ///
    /// Only this proves more than a sign-in by the token does.
    package let authenticatedAt: Int?
    /// When a sign-in by the token took place, in seconds since 1970; nil for now.
    package let signedInAt: Int?
    /// Members of the profile as the token states them, unchecked.
    package let profile: JSONObject
    /// The claims that the identity keeps.
    package let claims: IdentityClaims
    /// Whether the address of the profile is proved, so that a new user has it verified or not at
    /// all.
    package var provesEmail = false
    /// The session at the issuer; nil if it names none.
    package var session: String?
    /// The URL of the picture that a new user gets; nil for none.
    package var pictureURL: String?
    /// Whether the names of the user follow those of the issuer.
    package var refreshesNames = false
    /// The refresh token of the sign-in; nil without one that can be revoked.
    package var refreshToken: RefreshToken?

    package init(
      provider: IdentityProvider, subject: String, authenticatedAt: Int?, signedInAt: Int?,
      profile: JSONObject, claims: IdentityClaims
    ) {
      (self.provider, self.subject) = (provider, subject)
      (self.authenticatedAt, self.signedInAt) = (authenticatedAt, signedInAt)
      (self.profile, self.claims) = (profile, claims)
    }
  }

  /// The place of the subject in the claims of a token.
  package struct Subject: Sendable {
    /// The content type in the head of the tokens; nil if they have none.
    fileprivate let contentType: String?
    fileprivate let text: @Sendable (JSONObject) -> String?

    package static let standard = Subject(in: nil) { $0["sub"]?.string }

    /// Creates a place of the subject.
    ///
    /// - Parameters:
    ///   - contentType: the content type in the head of the tokens. Tokens of another protocol have
    ///     another one, and other subjects.
    ///   - text: returns the subject that claims name; nil if they name none.
    package init(in contentType: String?, _ text: @escaping @Sendable (JSONObject) -> String?) {
      (self.contentType, self.text) = (contentType, text)
    }
  }

  /// Verifies a token: issuer, audience, signature and times.
  ///
  /// - Parameters:
  ///   - token: the token as the issuer made it.
  ///   - nonce: the nonce for which the client has asked for the token; nil for one that names
  ///     none.
  ///   - subject: the place of the subject.
  ///   - isAccepted: whether the route accepts identities of a provider.
  ///   - context: the context of the request.
  /// - Returns: the identity.
  /// - Throws: `.invalidExternalToken` with the rule that it breaks, `.issuerUnavailable` if its
  ///   keys cannot be fetched, `.databaseUnavailable`.
  package func identity(
    of token: String, for nonce: String? = nil, naming subject: Subject = .standard,
    accepting isAccepted: (IdentityProvider) -> Bool = { _ in true }, _ context: RequestContext
  ) async throws(Failure) -> Identity {
    let read = try ExternalToken(token)
    let entries = try await entries(for: read, context)
    let candidates = entries.filter { entry in
      read.token.algorithm?.hasPrefix("HS") == (entry.secret != nil)
    }
    guard !candidates.isEmpty else {
      throw .invalidExternalToken(rule: "its alg is not one of its issuer")
    }
    guard read.token.head["cty"]?.string == subject.contentType else {
      throw .invalidExternalToken(rule: "its cty is of another protocol")
    }
    let now = time(nil)
    guard read.expires > Double(now - Self.leeway) else {
      throw .invalidExternalToken(rule: "its exp is in the past")
    }
    guard read.begins ?? 0 <= Double(now + Self.leeway) else {
      throw .invalidExternalToken(rule: "its nbf is in the future")
    }
    if let name = read.timeInFuture(from: now + Self.leeway) {
      throw .invalidExternalToken(rule: "its \(name) is in the future")
    }
    guard nonce.map(read.isMeant) != false else {
      throw .invalidExternalToken(
        rule: "its nonce is missing, or neither the nonce of the request nor the SHA-256 of it")
    }
    guard let named = subject.text(read.members), (1...255).contains(named.utf8.count) else {
      throw .invalidExternalToken(rule: "its subject is missing, empty or longer than 255 bytes")
    }
    guard let issuer = try await signer(of: read.token, among: candidates, context) else {
      throw .invalidExternalToken(rule: "its signature is not its issuer's")
    }
    let provider = IdentityProvider(ofIssuer: issuer.issuer)
    guard isAccepted(provider) else {
      throw .invalidExternalToken(rule: "its iss is not one that this request accepts")
    }
    return Identity(
      provider: provider, subject: named, authenticatedAt: read.authenticatedAt(now),
      signedInAt: read.signedInAt(now), profile: issuer.profile(from: read.members),
      claims: issuer.identityClaims(from: read.members)
    )
  }

  /// Returns the entries of the issuer whose keys may have signed a token.
  ///
  /// An app may have several keys of an issuer, each in an entry of its own.
  ///
  /// A token without `iss` belongs to the one issuer of the app that allows that. The keys of other
  /// issuers are not tried: any of them could sign for the users of this one.
  private func entries(
    for token: ExternalToken, _ context: RequestContext
  ) async throws(Failure) -> [Issuer] {
    let found = try await context.read(IssuerQueries.named, context.app.id, token.issuer)
    guard !found.isEmpty else {
      throw .invalidExternalToken(
        rule:
          token.issuer == nil
          ? "it has no iss, which no issuer of this app allows"
          : "its iss is not one of this app's issuers"
      )
    }
    let meant = found.prefix(IssuerRecord.mostEntries).filter { $0.isMeant(by: token.audiences) }
    guard !meant.isEmpty else {
      throw .invalidExternalToken(
        rule:
          token.audiences == nil
          ? "it has no aud, which its issuer does not allow"
          : "its aud is not the one that this app expects of its issuer"
      )
    }
    return meant
  }

  /// Returns the first entry whose keys have signed the token.
  ///
  /// The known keys of each entry are tried before an entry's keys are fetched again.
  /// - Throws: the error of an entry whose keys cannot be read, if no other entry has signed it.
  private func signer(
    of token: SignedToken, among entries: [Issuer], _ context: RequestContext
  ) async throws(Failure) -> Issuer? {
    var (others, outage): ([Issuer], Failure?) = ([], nil)
    for entry in entries {
      do throws(Failure) {
        if try await keys(of: entry, context.app.id).verify(token) { return entry }
        others.append(entry)
      } catch {
        outage = error
      }
    }
    for entry in others {
      do throws(Failure) {
        let source = source(of: entry, context.app.id)
        if try await source?.haveNewer(for: token, from: context.address.network) == true {
          return entry
        }
      } catch {
        outage = error
      }
    }
    if let outage { throw outage }
    return nil
  }

  private func keys(of issuer: Issuer, _ app: AppID) async throws(Failure) -> IssuerKeys {
    guard let source = source(of: issuer, app) else { return try stated(by: issuer, app) }
    return try await source.keys()
  }

  /// Returns the keys of an issuer that stores them here: a key set or a shared secret.
  private func stated(by issuer: Issuer, _ app: AppID) throws(Failure) -> IssuerKeys {
    let name = "\(app) \(issuer.name)"
    guard let secret = issuer.secret else {
      let text = issuer.jwks?.serialized() ?? []
      if let known = written[name], known.text == text { return known.keys }
      let keys = IssuerKeys(set: try? JSON.parse(text))
      written[name] = (text, keys)
      return keys
    }
    guard let opened = master.opened(secret, as: "issuer \(name)") else {
      throw .internalError(
        reason: "this master key does not decrypt the secret of issuer \(issuer.name)")
    }
    return .secret(opened)
  }

  /// Returns where the keys of an issuer are fetched; nil if it stores them here.
  private func source(of issuer: Issuer, _ app: AppID) -> FetchedKeys? {
    guard let url = issuer.jwksURL else { return nil }
    let name = "\(app) \(issuer.name)"
    if let known = fetched[name], known.url == url { return known }
    let new = FetchedKeys(at: url, of: issuer.name, in: app, source)
    fetched[name] = new
    return new
  }
}

extension RequestContext {
  package var external: ExternalTokens { dependencies[ExternalTokens.self] }
}
