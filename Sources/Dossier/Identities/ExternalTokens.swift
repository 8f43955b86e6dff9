package import EventLoop
import FoundationEssentials
import Glibc
import JSON
internal import JWTKit
package import Outbound
package import Postgres

/// Tokens of other issuers as a way in: who an app's issuers say that somebody is.
@EventLoop package final class ExternalTokens {
  private let database: Database
  private let source: HTTPSource
  private let master: MasterKey
  private var known: [String: KnownKeys] = [:]

  /// How far the issuer's clock and ours may be apart, in seconds.
  private static let leeway = 60
  /// How long fetched keys serve when their server does not say, and at least and at most.
  private static let usualLifetime = Duration.seconds(600)
  private static let lifetimes = Duration.seconds(60)...Duration.seconds(86_400)
  /// An unknown key makes us fetch again, not more often than this, in nanoseconds.
  private static let interval: UInt64 = 30_000_000_000

  package init(database: Database, source: HTTPSource, keys: Keyring) {
    self.database = database
    self.source = source
    master = keys.master
  }

  /// What a token that was verified says.
  struct Identity: Sendable {
    /// `jwt:` and the `iss`: whatever name the operator has for the issuer, its users are the same.
    let provider: String
    let subject: String
    /// Members of the profile.
    let profile: JSONObject
  }

  private struct KnownKeys {
    let keys: IssuerKeys
    let source: [UInt8]
    let fetchedAt: UInt64
    let expires: UInt64
  }

  /// Verifies a token: issuer, audience, signature and times.
  ///
  /// - Throws: `.invalidExternalToken` with the rule that it breaks, `.issuerUnavailable` when its
  ///   keys cannot be fetched, `.unavailable`.
  func identity(of token: String, _ context: Context) async throws(Failure) -> Identity {
    guard token.utf8.count <= 16_384,
      let parts = try? DefaultJWTParser().parse(Data(token.utf8), as: ExternalClaims.self),
      let (head, claims) = Self.parts(of: token)
    else { throw .invalidExternalToken("it is not a JWT with iss, sub, aud and exp") }
    if let fault = TokenHead.fault(in: head) { throw .invalidExternalToken(fault) }
    let payload = parts.payload
    let issuers = try await context.store.read(IssuerQueries.named, context.app.id, payload.iss)
    guard let issuer = issuers.first(where: { payload.aud.value.contains($0.audience) }) else {
      throw .invalidExternalToken("its issuer or audience is not one of this app's")
    }
    let isSecret = issuer.secret != nil
    guard parts.header.alg?.hasPrefix("HS") == isSecret else {
      throw .invalidExternalToken("it is not signed by an algorithm of its issuer")
    }
    let now = time(nil)
    guard payload.exp > now - Self.leeway else { throw .invalidExternalToken("it has expired") }
    guard payload.nbf ?? now <= now + Self.leeway else {
      throw .invalidExternalToken("it is not valid yet")
    }
    guard (1...255).contains(payload.sub.utf8.count) else {
      throw .invalidExternalToken("its subject is empty or longer than 255 bytes")
    }
    guard try await isSigned(token, by: issuer, context.app.id) else {
      throw .invalidExternalToken("its signature is not its issuer's")
    }
    return Identity(
      provider: "jwt:\(payload.iss)",
      subject: payload.sub,
      profile: issuer.profile(from: claims)
    )
  }

  /// The head and the claims, as JSON that has passed our gate.
  private static func parts(of token: String) -> (head: JSONObject, claims: JSONObject)? {
    let parts = token.split(separator: ".", omittingEmptySubsequences: false)
    guard parts.count == 3, let head = object(parts[0]), let claims = object(parts[1]) else {
      return nil
    }
    return (head, claims)
  }

  private static func object(_ part: Substring) -> JSONObject? {
    Data(base64URL: part).flatMap { (try? JSON.parse([UInt8]($0)))?.object }
  }

  private func isSigned(
    _ token: String,
    by issuer: Issuer,
    _ app: AppID
  ) async throws(Failure) -> Bool {
    let name = "\(app) \(issuer.name)"
    var keys = try await keys(of: issuer, name, atLeast: 0)
    if await keys.keys.verify(token) { return true }
    // Perhaps signed by a key that is newer than what we have.
    guard issuer.jwksURL != nil, EventLoop.now() - keys.fetchedAt > Self.interval else {
      return false
    }
    keys = try await self.keys(of: issuer, name, atLeast: EventLoop.now() - Self.interval)
    return await keys.keys.verify(token)
  }

  /// The keys of an issuer, which must have been fetched at `atLeast` of the monotonic clock.
  private func keys(
    of issuer: Issuer,
    _ name: String,
    atLeast: UInt64
  ) async throws(Failure) -> KnownKeys {
    let now = EventLoop.now()
    let stated = issuer.statedKeys
    if let found = known[name], found.source == stated, found.expires > now,
      found.fetchedAt >= atLeast
    {
      return found
    }
    let keys: IssuerKeys
    var lifetime = Self.usualLifetime
    if let secret = issuer.secret {
      guard let opened = try? master.opened(secret, as: "issuer \(name)") else {
        throw .unforeseen("the secret of issuer \(issuer.name) was sealed with another master key")
      }
      keys = .secret(opened)
    } else if let url = issuer.jwksURL {
      let document: HTTPDocument
      do throws(FetchError) {
        document = try await source.fetch(url)
      } catch {
        // Old keys are better than none, while they are the ones that were stated.
        if let found = known[name], found.source == stated, atLeast == 0 { return found }
        throw .issuerUnavailable(issuer.name, "\(error)")
      }
      lifetime = document.lifetime ?? lifetime
      keys = await IssuerKeys(set: try? JSON.parse(document.body))
    } else {
      keys = await IssuerKeys(set: try? JSON.parse(issuer.jwks ?? []))
    }
    lifetime = min(max(lifetime, Self.lifetimes.lowerBound), Self.lifetimes.upperBound)
    let found = KnownKeys(
      keys: keys,
      source: stated,
      fetchedAt: now,
      expires: now + UInt64(lifetime.components.seconds) * 1_000_000_000
    )
    known[name] = found
    return found
  }
}

/// The claims that every token must have.
struct ExternalClaims: JWTPayload {
  let iss: String
  let sub: String
  let aud: AudienceClaim
  let exp: Int
  let nbf: Int?

  /// Times are checked with a leeway, by the caller.
  func verify(using algorithm: some JWTAlgorithm) {}
}
