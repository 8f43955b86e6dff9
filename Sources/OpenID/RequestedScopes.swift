package import EventLoop
import Encoding
import Records
package import Runtime
package import Tenancy

/// The scopes of a request for an API, by what becomes of them.
package struct RequestedScopes: Sendable {
  /// Those that the client may get, once each, in the order of the request.
  package private(set) var granted: [String] = []
  /// Those that exist and that the client cannot get for a user.
  private var withheld: [String] = []
  /// Those that neither OpenID Connect nor the API has.
  private var unknown: [String] = []

  /// The scopes of OpenID Connect and of Auth0 that give nothing here, and that libraries send.
  ///
  /// - Source: OpenID Connect Core section 5.4; `scopes_supported` of Auth0.
  private static let idle = [
    "address", "name", "given_name", "family_name", "nickname", "picture", "email_verified",
    "created_at", "identities",
  ]

  /// - Parameters:
  ///   - scopes: the scopes, as `[String](scopes:)` reads them.
  ///   - server: the API; nil for none.
  package init(_ scopes: [String], at server: ResourceServer?) {
    for scope in scopes {
      switch StandardScope(rawValue: scope) {
      case .offlineAccess where server?.allowsOfflineAccess == false: withheld.append(scope)
      case .some: granted.append(scope)
      case nil where server?.grants(toUsers: scope) == true: granted.append(scope)
      case nil where Self.idle.has(scope: scope) || server?.has(scope: scope) == true:
        withheld.append(scope)
      case nil: unknown.append(scope)
      }
    }
  }

  /// Checks that all scopes exist, and writes those that the client does not get in the log.
  ///
  /// A client of the profile `auth0` gets the others: Auth0 ignores scopes that do not exist.
  /// - Throws: `.unknownScopes`.
  @EventLoop package func check(
    for client: Client, at server: ResourceServer?, of issuer: String, _ context: RequestContext
  ) throws(Failure) {
    context.note(withheld: withheld + unknown, from: client)
    guard !unknown.isEmpty, client.settings.claimsProfile != .auth0 else { return }
    throw .unknownScopes(
      unknown, at: server.map { ProvidedAPI.audience(of: $0.identifier, at: issuer) })
  }
}

extension RequestContext {
  /// Writes in the log which scopes of a request its client does not get.
  package func note(withheld scopes: [String], from client: Client) {
    guard !scopes.isEmpty else { return }
    let note = "the client \(client.id) does not get the scopes \(scopes.named())"
    remark = remark.map { "\($0); \(note)" } ?? note
  }
}

extension Failure {
  package static let unknownScopes = Failure("unknown_scopes", .invalid)
    .titled("A requested scope does not exist.")
    .remedied("Correct the scopes, or name the API that has them by audience.")

  static func unknownScopes(_ scopes: [String], at audience: String?) -> Failure {
    let place = audience.map { "the API \($0.excerpt(200))" } ?? "OpenID Connect"
    return .unknownScopes(
      scopes.count == 1
        ? "The scope \(scopes.named()) does not exist at \(place)."
        : "The scopes \(scopes.named()) do not exist at \(place).")
  }
}

extension [String] {
  /// The scopes of a client, for errors and the log: at most ten, in characters that scopes may have.
  ///
  /// - Source: RFC 6749 section 5.2, for the characters.
  func named(separator: String = " ") -> String {
    let shown = prefix(10).map { scope in
      String(
        decoding: scope.excerpt(100).utf8.map { byte in
          byte.isVisible && byte != UInt8(ascii: "\"") && byte != UInt8(ascii: "\\")
            ? byte : UInt8(ascii: "?")
        }, as: UTF8.self)
    }
    return shown.joined(separator: separator) + (count > 10 ? " and \(count - 10) more" : "")
  }
}
