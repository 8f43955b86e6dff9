import Runtime
import EventLoop
import JSON
package import Postgres

/// A claim about the account in an access token, as the app's setting `access_token_claims` chooses.
///
/// - Source: OpenID Connect Core section 5.1, for the first two.
enum AccountClaim: String, CaseIterable {
  case email
  case emailVerified = "email_verified"
  case anonymous
}

extension AccountClaim {
  /// Returns the claims that the app has chosen, as they are now.
  ///
  /// The database is asked only where some are chosen. A user without an address has neither of the
  /// claims about one.
  ///
  /// Throws `.databaseUnavailable`.
  @EventLoop package static func chosen(
    _ context: RequestContext
  ) async throws(Failure) -> [(String, JSON)] {
    let chosen = context.app.sessionSettings.accessTokenClaims
    guard !chosen.isEmpty, let user = context.principal.user,
      let account = try await context.first(AccountClaimQueries.read, user)
    else { return [] }
    return allCases.filter(chosen.contains).compactMap { claim in
      account.value(of: claim).map { (claim.rawValue, $0) }
    }
  }
}

/// The columns from which the claims are made.
struct AccountClaimRow: RowDecodable {
  private let email: String?
  private let isVerified: Bool
  private let isAnonymous: Bool

  init(from row: Row) throws(DatabaseError) {
    email = row.text(ifAny: 0)
    isVerified = try row.bool(1)
    isAnonymous = try row.bool(2)
  }

  /// Nil for a claim about an address that the user does not have.
  fileprivate func value(of claim: AccountClaim) -> JSON? {
    switch claim {
    case .email: email.map(JSON.string)
    case .emailVerified: email.map { _ in .bool(isVerified) }
    case .anonymous: .bool(isAnonymous)
    }
  }
}

package enum AccountClaimQueries {
  /// Served by the primary key.
  static let read = Statement<AccountClaimRow, UserID>(
    "account_claims.read", "select email, email_verified, anonymous from users where user_id = $1"
  )

  package static let all: [any PreparedStatement] = [read]
}
