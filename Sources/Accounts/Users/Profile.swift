package import Runtime
package import Postgres

/// The profile of a user.
package struct Profile: Listed {
  package let id: UserID
  package let createdAt: Timestamp
  package let updatedAt: Timestamp
  package let version: Int
  package let isAnonymous: Bool
  package let isBlocked: Bool
  package let email: String?
  package let isEmailVerified: Bool
  package let name: String?
  package let givenName: String?
  package let familyName: String?
  package let nickname: String?
  package let phone: String?
  package let locale: String?
  package let zone: String?
  /// The name of the picture, for `Pictures.show`.
  package let picture: String?

  package var cursor: UserID { id }

  /// The name, or what stands for it in protocols that require one.
  package var shownName: String { name ?? email ?? nickname ?? id.text }

  /// The nickname, or what stands for it in protocols that require one.
  package var shownNickname: String {
    nickname ?? email.map { String($0.prefix { $0 != "@" }) } ?? shownName
  }

  /// Reads the columns of `SQL.profile`.
  package init(from row: Row) throws(DatabaseError) {
    id = try row.id(0)
    createdAt = try row.time(1)
    updatedAt = try row.time(2)
    version = try row.int(3)
    isAnonymous = try row.bool(4)
    isBlocked = try row.bool(5)
    email = row.text(ifAny: 6)
    isEmailVerified = try row.bool(7)
    name = row.text(ifAny: 8)
    givenName = row.text(ifAny: 9)
    familyName = row.text(ifAny: 10)
    nickname = row.text(ifAny: 11)
    phone = row.text(ifAny: 12)
    locale = row.text(ifAny: 13)
    zone = row.text(ifAny: 14)
    picture = row.text(ifAny: 15)
  }
}

extension SQL {
  /// The columns of a profile, of a statement that reads or changes `users c`.
  package static let profile: SQL = """
    c.user_id, c.created_at, c.updated_at, c.version, c.anonymous, c.blocked_at is not null,
      c.email, c.email_verified, c.name, c.given_name, c.family_name, c.nickname, c.phone,
      c.locale, c.zone, c.picture
    """
}
