import Documents
import Encoding
import EventLoop
import JSON
import OpenID
import Runtime
import Sessions
import Tenancy

extension Filter {
  /// The prefix of an identity's id whose provider is unknown, in place of `auth0|`.
  static let anyProvider = "|"

  /// Returns the filter with ids of users and providers as they are stored, in place of the API's.
  ///
  /// - Throws: `.databaseUnavailable`.
  @EventLoop func resolved(_ context: RequestContext) async throws(Failure) -> Filter {
    switch self {
    case .term(let term): return .term(try await term.resolved(context))
    case .not(let inner): return .not(try await inner.resolved(context))
    case .and(let parts): return .and(try await Self.resolved(parts, context))
    case .or(let parts): return .or(try await Self.resolved(parts, context))
    }
  }

  @EventLoop private static func resolved(
    _ parts: [Filter], _ context: RequestContext
  ) async throws(Failure) -> [Filter] {
    var resolved: [Filter] = []
    for part in parts { resolved.append(try await part.resolved(context)) }
    return resolved
  }
}

extension FilterTerm {
  @EventLoop fileprivate func resolved(
    _ context: RequestContext
  ) async throws(Failure) -> FilterTerm {
    guard case .compares(.equal, .text(let text)) = test else { return self }
    let stored: [String]
    switch subject {
    case .profile(.id): stored = try await Self.users(text, context).map(\.text)
    case .provider: stored = try await Self.providers(text, context)
    case .profile, .document: return self
    }
    // No user has an empty id or provider.
    let values = stored.isEmpty ? [""] : stored
    return FilterTerm(subject: subject, test: .isOneOf(values.map(FilterValue.text)))
  }

  @EventLoop private static func users(
    _ id: String, _ context: RequestContext
  ) async throws(Failure) -> [UserID] {
    guard id.utf8.starts(with: Filter.anyProvider.utf8) else {
      return try await ForeignIDs.user(of: id, context).map { [$0] } ?? []
    }
    let part = String(Substring(id.utf8.dropFirst(Filter.anyProvider.utf8.count)))
    return try await UserLinks.users(ofIdentity: part, context)
  }

  /// Returns the stored names of a provider or connection.
  @EventLoop private static func providers(
    _ name: String, _ context: RequestContext
  ) async throws(Failure) -> [String] {
    switch name {
    case "auth0", ClientSettings.Connection.password.auth0Name:
      return ["password", "linked-password"]
    case "email", "anonymous": return [name]
    default:
      return try await Issuers.list(of: context.app.name, context).filter {
        $0.name.hasSameBytes(as: name) || $0.issuer.hasSameBytes(as: name)
      }.map { IdentityProvider(ofIssuer: $0.issuer).text }
    }
  }
}
