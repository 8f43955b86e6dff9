import Tenancy
package import EventLoop
package import Postgres
package import JSON
package import Runtime
import Encoding

/// The ids by which Auth0's clients know users.
///
/// A user who came with such an id, by an import for example, keeps it. Any other user has `auth0|`
/// and its own id.
@EventLoop package enum ForeignIDs {
  /// The start of the ids of users with an address.
  package nonisolated static let prefix = "auth0|"
  /// The most bytes of an id.
  package nonisolated static let longest = 255

  /// Returns the id of a user.
  ///
  /// - Throws: `.databaseUnavailable`.
  package static func id(of user: UserID, _ context: RequestContext) async throws(Failure)
    -> String
  {
    try await context.first(ForeignIDQueries.id, user) ?? id(of: user)
  }

  /// Returns the same in a transaction.
  static func id(of user: UserID, in transaction: Transaction) async throws(Failure) -> String {
    try await transaction.run(ForeignIDQueries.id, user).first ?? id(of: user)
  }

  /// Returns the id of a user who did not come with one.
  package nonisolated static func id(of user: UserID) -> String { prefix + user.text }

  /// Returns the user of an id: one with which a user came, or the form of any other user.
  ///
  /// - Returns: the user, who need not exist; nil if the id names none.
  /// - Throws: `.databaseUnavailable`.
  package static func user(
    of id: String, _ context: RequestContext
  ) async throws(Failure) -> UserID? {
    guard isForeign(id) else { return nil }
    let holder = SubjectQueries.holder
    if let user = try await context.first(holder, context.app.id, IdentityProvider.foreign, id) {
      return user
    }
    return named(by: id)
  }

  /// Returns the user that an id names if it did not come with one; nil for another form of id.
  package nonisolated static func named(by id: String) -> UserID? {
    id.utf8.starts(with: prefix.utf8)
      ? UserID(String(id.utf8.dropFirst(prefix.utf8.count)) ?? "") : nil
  }

  /// Returns whether a text has the form of a foreign id: a provider, `|`, and its id.
  package nonisolated static func isForeign(_ text: String) -> Bool {
    guard (3...longest).contains(text.utf8.count),
      text.utf8.allSatisfy({ $0.isVisible && $0 != UInt8(ascii: "/") }),
      let bar = text.utf8.firstIndex(of: UInt8(ascii: "|"))
    else { return false }
    return bar != text.utf8.startIndex && text.utf8.index(after: bar) != text.utf8.endIndex
  }
}

extension JSONObject {
  /// The user of a token of this server, whose `sub` may be a foreign id.
  package var user: UserID? { (self["uid"] ?? self["sub"])?.string.flatMap { UserID($0) } }

  /// Sets the claims that name a user.
  ///
  /// - Parameters:
  ///   - user: the user.
  ///   - subject: the id that the client knows.
  package mutating func setUser(_ user: UserID, as subject: String) {
    self["sub"] = .string(subject)
    self["uid"] = subject.hasSameBytes(as: user.text) ? nil : .string(user.text)
  }
}

package enum ForeignIDQueries {
  /// Returns no row for a user who did not come with one.
  static let id = Statement<String, UserID>(
    "foreign_ids.id", "select foreign_id from users where user_id = $1 and foreign_id is not null"
  )

  package static let all: [any PreparedStatement] = [id]
}
