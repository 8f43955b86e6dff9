import Encoding
package import EventLoop
package import JSON
package import Postgres
package import Runtime
package import Tenancy

/// A name by which a provider knows a user; it belongs to at most one user of an app.
package struct Subject: RowDecodable, Comparable, Sendable {
  /// `.email` for an address, and `.foreign` for a foreign id.
  package let provider: IdentityProvider
  /// The key of an address, or the name at the provider.
  package let name: String

  private init(at provider: IdentityProvider, _ name: String) {
    (self.provider, self.name) = (provider, name)
  }

  package init(email key: String) { self.init(at: .email, key) }

  /// Returns the subject of an identity; nil for a guest and an API key, which have none.
  package init?(ofIdentityAt provider: IdentityProvider, _ name: String) {
    switch provider {
    case .anonymous, .apiKey: return nil
    case .password, .linkedPassword, .email: self.init(email: name)
    case .passkey, .issuer: self.init(at: provider, name)
    }
  }

  package init(from row: Row) throws(DatabaseError) {
    self.init(at: IdentityProvider(try row.text(0)), try row.text(1))
  }

  /// The order in which all transactions lock subjects.
  package static func < (one: Subject, other: Subject) -> Bool {
    "\(one.provider.text)\0\(one.name)".utf8
      .lexicographicallyPrecedes("\(other.provider.text)\0\(other.name)".utf8)
  }

  /// Compares bytes, as the order does.
  package static func == (one: Subject, other: Subject) -> Bool {
    one.provider == other.provider && one.name.hasSameBytes(as: other.name)
  }
}

/// The user of each subject, in a table that is distributed by the subject.
///
/// It is asked by subject only: the subjects of a user are found in the rows of the user.
@EventLoop package enum Subjects {
  /// Gives a subject to a user, without waiting; undoes the transaction if another user has it.
  package static func sendClaim(
    of subject: Subject, for user: UserID, _ identity: IdentityID, in transaction: Transaction
  ) -> Sent<NoRow> {
    let (provider, name) = (subject.provider, subject.name)
    let claim = SubjectQueries.claim
    return transaction.send(claim, transaction.app.id, provider, name, user, identity)
  }

  /// Frees subjects of a user for other users, without waiting.
  package static func release(_ subjects: [Subject], of user: UserID, in transaction: Transaction) {
    for subject in subjects.sorted() {
      let (provider, name) = (subject.provider, subject.name)
      _ = transaction.send(SubjectQueries.release, transaction.app.id, provider, name, user)
    }
  }

  /// Frees the former address of a user, without waiting.
  ///
  /// It may stay reserved for the user, as long as a mailed token can restore it.
  package static func release(
    email key: String, reserved isReserved: Bool, of user: UserID, in transaction: Transaction
  ) {
    guard isReserved else {
      return release([Subject(email: key)], of: user, in: transaction)
    }
    _ = transaction.send(SubjectQueries.reserve, transaction.app.id, key, user, ServerTime())
    _ = transaction.send(SubjectQueries.addReserved, user, key, ServerTime())
  }

  /// Returns whether the address of a user came with an identity: its issuer or an import named it.
  package static func names(
    _ key: String?, _ identity: IdentityID, of user: UserID, in transaction: Transaction
  ) async throws(Failure) -> Bool {
    guard let key else { return false }
    let found = try await transaction.run(SubjectQueries.identity, transaction.app.id, key, user)
    return found.first == identity
  }
}

/// The statements about `identity_subjects`, and about the names that a user keeps.
package enum SubjectQueries {
  /// Gives a subject at a provider to a user; undoes the transaction if another user has it.
  package static let claim = Statement<NoRow, AppID, IdentityProvider, String, UserID, IdentityID>(
    "subjects.claim",
    """
    insert into identity_subjects as s (app_id, provider, subject, user_id, identity_id)
    values ($1, $2, $3, $4, $5)
    on conflict (app_id, provider, subject) do update
    set user_id = case when require(s.user_id = excluded.user_id) then excluded.user_id end,
      identity_id = excluded.identity_id
    """)

  /// Gives a subject at a provider to a user; returns no row if it is taken.
  package static let claimIfFree = Statement<
    String, AppID, IdentityProvider, String, UserID, IdentityID
  >(
    "subjects.claim_if_free",
    """
    insert into identity_subjects (app_id, provider, subject, user_id, identity_id)
    values ($1, $2, $3, $4, $5)
    on conflict (app_id, provider, subject) do nothing returning subject
    """)

  /// Gives an address to a user; undoes the transaction if another user has it.
  ///
  /// A former address can return to its user, and goes to others when it is no longer reserved. A
  /// linked address must be unlinked first.
  /// `takeFreeAddress` has the same rule for a new user, and `ImportQueries.claims` for many users.
  /// - Parameter 5: the time of the transaction.
  /// - Parameter 6: whether a back end gives the address. It counts only for a new address: the user
  ///   may have registered the present one.
  package static let takeAddress = Statement<
    NoRow, AppID, String, UserID, IdentityID, ServerTime, Bool
  >(
    "subjects.take_address",
    """
    insert into identity_subjects as s (app_id, provider, subject, user_id, identity_id, assigned)
    values ($1, 'email', $2, $3, $4, $6)
    on conflict (app_id, provider, subject) do update
    set user_id = case
        when require(s.user_id = excluded.user_id and s.reserved_until is distinct from 'infinity'
          or s.reserved_until < $5::timestamptz)
        then excluded.user_id end,
      identity_id = excluded.identity_id, reserved_until = null,
      assigned = excluded.assigned and (
        s.assigned or s.user_id <> excluded.user_id or s.reserved_until is not null)
    """)

  /// Gives a linked address to a user, whose own address stays; undoes the transaction if it is
  /// taken.
  ///
  /// It is reserved for ever: nothing but a password finds its user.
  package static let linkAddress = Statement<NoRow, AppID, String, UserID, IdentityID>(
    "subjects.link_address",
    """
    insert into identity_subjects as s (
      app_id, provider, subject, user_id, identity_id, reserved_until)
    values ($1, 'email', $2, $3, $4, 'infinity')
    on conflict (app_id, provider, subject) do update
    set user_id = case when require(s.subject <> excluded.subject) then excluded.user_id end
    """)

  /// Gives an address to a new user if it is free; returns no row if another user has it.
  package static let takeFreeAddress = Statement<
    String, AppID, String, UserID, IdentityID, ServerTime
  >(
    "subjects.take_free_address",
    """
    insert into identity_subjects as s (app_id, provider, subject, user_id, identity_id)
    values ($1, 'email', $2, $3, $4)
    on conflict (app_id, provider, subject) do update
    set user_id = excluded.user_id, identity_id = excluded.identity_id, reserved_until = null,
      assigned = false
    where s.reserved_until < $5::timestamptz
    returning subject
    """)

  /// Returns the user of a subject; no row if no user has it.
  ///
  /// Served by the primary key.
  package static let holder = Statement<UserID, AppID, IdentityProvider, String>(
    "subjects.holder",
    """
    select user_id from identity_subjects
    where app_id = $1 and provider = $2 and subject = $3 and reserved_until is null
    """)

  /// Returns the user who signs in with a password by an address, which may be a linked one.
  ///
  /// Served by the primary key.
  package static let signer = Statement<UserID, AppID, String>(
    "subjects.signer",
    """
    select user_id from identity_subjects
    where app_id = $1 and provider = 'email' and subject = $2
      and (reserved_until is null or reserved_until = 'infinity')
    """)

  /// Returns the identity with which an address of a user came.
  static let identity = Statement<IdentityID, AppID, String, UserID>(
    "subjects.identity",
    """
    select identity_id from identity_subjects
    where app_id = $1 and provider = 'email' and subject = $2 and user_id = $3
      and reserved_until is null
    """)

  package static let release = Statement<NoRow, AppID, IdentityProvider, String, UserID>(
    "subjects.release",
    """
    delete from identity_subjects
    where app_id = $1 and provider = $2 and subject = $3 and user_id = $4
    """)

  /// - Parameter 4: the time of the transaction.
  static let reserve = Statement<NoRow, AppID, String, UserID, ServerTime>(
    "subjects.reserve",
    """
    update identity_subjects set reserved_until = $4::timestamptz + interval '7 days'
    where app_id = $1 and provider = 'email' and subject = $2 and user_id = $3
    """)

  static let addReserved = Statement<NoRow, UserID, String, ServerTime>(
    "subjects.add_reserved",
    """
    insert into additional_subjects (user_id, provider, subject, reserved_until)
    values ($1, 'email', $2, $3::timestamptz + interval '7 days')
    on conflict (user_id, provider, subject) do update
    set reserved_until = excluded.reserved_until
    """)

  /// Returns all subjects of a user, and some that other users may have got since.
  package static let ofUser = Statement<Subject, UserID>(
    "subjects.of_user",
    """
    select case when provider in ('password', 'linked-password') then 'email' else provider end,
      subject
    from identities where user_id = $1 and provider not in ('anonymous', 'api-key')
    union
    select 'email', email_key(email) collate "C" from users
    where user_id = $1 and email is not null
    union
    select 'auth0', foreign_id from users where user_id = $1 and foreign_id is not null
    union
    select provider, subject from additional_subjects where user_id = $1
    """)
}

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
    var batch = ReadBatch()
    guard let read = addUser(of: id, to: &batch, context) else { return nil }
    return try read(await context.read(batch))
  }

  /// Adds the same read to a batch; returns nil if the text is no id.
  package static func addUser(
    of id: String, to batch: inout ReadBatch, _ context: RequestContext
  ) -> BatchRead<UserID?>? {
    guard isForeign(id) else { return nil }
    let provider = IdentityProvider.foreign
    let place = batch.add(SubjectQueries.holder, context.app.id, provider, id)
    // The id of an account at a connected service: its user need not have come with it.
    let parts = id.split(separator: "|", maxSplits: 1).map(String.init)
    let issuer = context.app.issuer(named: parts[0])
    let account = issuer.map {
      batch.add(SubjectQueries.holder, context.app.id, IdentityProvider(ofIssuer: $0), parts[1])
    }
    return { (results) throws(Failure) in
      if let user = try results.first(place, as: UserID.self) { return user }
      if let account, let user = try results.first(account, as: UserID.self) { return user }
      return named(by: id)
    }
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
}

extension Client {
  /// Returns the `sub` of a user for the client.
  ///
  /// - Throws: `.databaseUnavailable`.
  @EventLoop package func subject(of user: UserID, _ context: RequestContext) async throws(Failure)
    -> String
  {
    switch settings.claimsProfile {
    case .oidc: user.text
    case .auth0: try await ForeignIDs.id(of: user, context)
    }
  }

  /// Returns the same for a user whose id from elsewhere is known; nil for a user of this server.
  package func subject(of user: UserID, _ foreignID: String?) -> String {
    switch settings.claimsProfile {
    case .oidc: user.text
    case .auth0: foreignID ?? ForeignIDs.id(of: user)
    }
  }

  /// Returns the same in a transaction.
  @EventLoop package func subject(
    of user: UserID, in transaction: Transaction
  ) async throws(Failure) -> String {
    switch settings.claimsProfile {
    case .oidc: user.text
    case .auth0: try await ForeignIDs.id(of: user, in: transaction)
    }
  }
}
