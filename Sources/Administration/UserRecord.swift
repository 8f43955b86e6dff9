package import Tenancy
import Documents
package import Accounts
import EventLoop
package import JSON
package import Postgres
package import Runtime

/// A user with its identities, sign-ins, metadata and app metadata.
package struct UserRecord: RowDecodable {
  package let profile: Profile
  /// The id with which the user came; nil for a user of this server.
  package let foreignID: String?
  /// A picture elsewhere, which a back end has set; nil for none.
  package let pictureURL: String?
  package let lastLogin: Timestamp?
  package let loginCount: Int
  /// The identities, oldest first.
  package let identities: [Identity]
  /// Nil if it was never written.
  package fileprivate(set) var metadata: JSON?
  package fileprivate(set) var appMetadata: JSON?
  /// When a password was set after the user was created; nil if none was.
  package let passwordChangedAt: Timestamp?

  /// An identity, with the operator's name of its issuer.
  ///
  /// An issuer may have several entries, of which the oldest names its identities.
  package struct Identity: Sendable {
    package let provider: IdentityProvider
    package let subject: String
    /// Nil for an identity of this server, and for an issuer that was removed.
    package let issuer: String?
    /// What was stored of its former user when it was linked; empty before.
    package let profile: JSONObject
  }

  package init(from row: Row) throws(DatabaseError) {
    profile = try Profile(from: row)
    foreignID = row.text(ifAny: 16)
    pictureURL = row.text(ifAny: 17)
    lastLogin = try row.time(ifAny: 18)
    loginCount = try row.int(19)
    identities = (try row.json(20).array ?? []).compactMap { json in
      guard let provider = json["provider"]?.string, let subject = json["subject"]?.string
      else { return nil }
      return Identity(
        provider: IdentityProvider(provider), subject: subject, issuer: json["issuer"]?.string,
        profile: json["profile"]?.object ?? JSONObject()
      )
    }
    metadata = row.isNull(21) ? nil : try row.json(21)
    appMetadata = row.isNull(22) ? nil : try row.json(22)
    passwordChangedAt = try row.time(ifAny: 23)
  }
}

/// Reads users with all that administrators see of them.
package enum UserRecords {
  /// Returns a user; app metadata only if the principal may read it.
  ///
  /// - Throws: `.notFound`, `.sessionEnded`, `.databaseUnavailable`.
  @EventLoop package static func read(
    of user: UserID, withDocuments: Bool = true, _ context: RequestContext
  ) async throws(Failure) -> UserRecord {
    try await read(of: [user], withDocuments: withDocuments, context).first.orGone(context)
  }

  /// Returns users in one round trip, without those that the principal may not access.
  ///
  /// With up to two documents a record is large, so the caller names few users at a time.
  /// - Throws: `.databaseUnavailable`.
  @EventLoop package static func read(
    of users: some Sequence<UserID>, withDocuments: Bool = true, _ context: RequestContext
  ) async throws(Failure) -> [UserRecord] {
    let readsMetadata = withDocuments && DocumentKind.metadata.isReadable(context)
    let readsAppMetadata = withDocuments && DocumentKind.appMetadata.isReadable(context)
    let calls = users.map {
      PendingQuery(UserRecordQueries.read, $0, context.principal, readsMetadata, readsAppMetadata)
    }
    let metadata = MemberAccess(to: .metadata, context)
    let appMetadata = MemberAccess(to: .appMetadata, context)
    let lane: DatabaseLane? = withDocuments ? .large : nil
    return try await context.read(UserRecordQueries.read, calls, on: lane).joined().map { record in
      var record = record
      if let metadata { record.metadata = record.metadata.map(metadata.visible) }
      if let appMetadata { record.appMetadata = record.appMetadata.map(appMetadata.visible) }
      return record
    }
  }
}

/// The members of a user that lists are sorted by, beside the profile.
package struct UserSignIns: RowDecodable {
  package let user: UserID
  /// As in `UserRecord`.
  package let foreignID: String?
  package let lastLogin: Timestamp?
  package let loginCount: Int

  package init(from row: Row) throws(DatabaseError) {
    user = UserID(trusted: try row.text(0))
    foreignID = row.text(ifAny: 1)
    lastLogin = try row.time(ifAny: 2)
    loginCount = try row.int(3)
  }
}

extension UserRecords {
  /// Returns the sign-ins of some users of the app; none for those that were deleted.
  ///
  /// - Throws: `.databaseUnavailable`.
  @EventLoop package static func signIns(
    of users: [UserID], _ context: RequestContext
  ) async throws(Failure) -> [UserSignIns] {
    let ids = TextArray(users.map(\.text))
    return try await context.read(UserRecordQueries.signIns, context.app.id, ids, on: .search)
  }
}

package enum UserRecordQueries {
  /// Returns one row if the principal may access the user.
  ///
  /// - Parameter 3: whether to read the metadata.
  /// - Parameter 4: whether to read the app metadata.
  static let read = Statement<UserRecord, UserID, Principal, Bool, Bool>(
    "user_records.read",
    """
    select \(.profile), c.foreign_id, c.picture_url, c.last_login_at, c.login_count,
      (select coalesce(json_agg(json_build_object('provider', i.provider, 'subject', i.subject,
          'profile', i.profile, 'issuer', (select s.name from issuers s
            where s.app_id = c.app_id and i.provider = 'jwt:' || s.issuer
            order by s.created_at, s.name limit 1))
          order by i.created_at, i.identity_id), '[]')
        from identities i where i.user_id = $1 and i.provider not in ('api-key', 'passkey')),
      (select d.body from documents d where $3::boolean and d.user_id = $1
        and d.kind = 'metadata' and d.deleted_at is null),
      (select d.body from documents d where $4::boolean and d.user_id = $1
        and d.kind = 'app_metadata' and d.deleted_at is null),
      (select p.changed_at from passwords p where p.user_id = $1 and p.changed_at > c.created_at)
    from users c where \(.isAuthorized)
    """)

  /// Asks all shards, once.
  static let signIns = Statement<UserSignIns, AppID, TextArray>(
    "user_records.sign_ins",
    """
    select user_id, foreign_id, last_login_at, login_count
    from users where app_id = $1 and user_id = any ($2::text[])
    """)
}
