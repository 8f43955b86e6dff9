package import Documents
import Accounts
import EventLoop
package import JSON
import Postgres
package import Runtime

/// Changes of a user that are made together, or not at all.
package struct UserRevision: Sendable {
  /// Members of the profile; null removes one.
  package var profile = JSONObject()
  /// New members of documents: null removes one, and an empty object removes all.
  package var documents: [(kind: DocumentKind, members: JSONObject)] = []
  /// Whether these are merge patches (RFC 7396) instead, which also change inner objects.
  package var mergesDocuments = false
  package var isBlocked: Bool?
  /// True verifies the address.
  ///
  /// False is refused for a verified address. Nil changes nothing.
  package var isEmailVerified: Bool?
  package var password: String?
  /// A new address, in place of the present one.
  package var email: (text: String, isVerified: Bool)?
  /// The URL of a picture elsewhere; null removes it, and nil leaves it.
  package var pictureURL: JSON?

  package init() {}
}

extension UserAdministration {
  /// Changes a user in one transaction, and repeats that after a concurrent write of a document.
  ///
  /// - Throws: `.insufficientScope`, `.invalid`, `.emailTaken`, `.noEmail`, `.schemaMismatch`,
  ///   `.documentTooLarge`, `.preconditionFailed` if `condition` does not allow the version of the
  ///   user, `.notFound`, `.sessionEnded`, `.overloaded`, `.databaseUnavailable`.
  @EventLoop package static func revise(
    _ user: UserID, _ revision: UserRevision, if condition: VersionCondition = VersionCondition(),
    _ context: RequestContext
  ) async throws(Failure) {
    var hash: String?
    if let password = revision.password {
      do throws(Failure) {
        hash = try await self.hash(of: password, for: user, context)
      } catch .notFound {
        _ = try await Profiles.read(of: user, context)
        throw .noEmail
      }
    }
    var address: EmailAddress?
    if let email = revision.email {
      try EmailAddress.check(email.text, context)
      address = try await EmailAddress(email.text, context)
    }
    try await context.revise("user", of: user) { [hash, address] () async throws(Failure) in
      var writes: [DocumentWrite] = []
      for (kind, members) in revision.documents {
        writes.append(
          try await write(kind, members, isMerge: revision.mergesDocuments, of: user, context)
        )
      }
      var stale: Failure?
      do throws(Failure) {
        try await change(user, context) { [writes] (transaction, found) async throws(Failure) in
          guard condition.allows(found.version) else {
            let failure = Failure.preconditionFailed(current: found.version)
            stale = failure
            throw failure
          }
          for write in writes { try await write.run(of: user, in: transaction) }
          if revision.profile.count > 0 {
            try await Profiles.change(revision.profile, of: user, in: transaction)
          }
          if let email = revision.email, let address {
            try await setEmail(
              email.text, address, isVerified: email.isVerified, of: user, in: transaction
            )
          }
          if let isVerified = revision.isEmailVerified {
            try await setVerified(isVerified, user, found, in: transaction)
          }
          if let hash { try await setPassword(hash, of: user, in: transaction) }
          if let isBlocked = revision.isBlocked {
            try await setBlocked(isBlocked, user, found, in: transaction)
          }
          _ = transaction.send(
            UserRevisionQueries.finish, user, found.version, !writes.isEmpty,
            revision.pictureURL != nil, revision.pictureURL?.string
          )
        }
        return .done(())
      } catch .preconditionFailed {
        // Another request has changed a document since it was read, unless the user is stale.
        if let stale { throw stale }
        return .overtaken
      }
    }
  }

  /// Verifies the address of a locked user; refuses to make a verified one unverified.
  @EventLoop private static func setVerified(
    _ isVerified: Bool, _ user: UserID, _ found: AdministeredUser, in transaction: Transaction
  ) async throws(Failure) {
    guard let address = found.address else { throw .noEmail }
    guard isVerified || !address.isVerified else {
      throw .invalid([FieldError("/email_verified", "value", "A verified address stays verified.")])
    }
    if isVerified { try await verifyEmail(of: user, found, in: transaction) }
  }

  /// Returns the write of a document with new members, from its stored version.
  @EventLoop private static func write(
    _ kind: DocumentKind, _ members: JSONObject, isMerge: Bool, of user: UserID,
    _ context: RequestContext
  ) async throws(Failure) -> DocumentWrite {
    try kind.requireWritable(context)
    let rule = try DocumentRule(of: kind, in: context.app)
    let stored = try await Documents.load(kind, of: user, context)
    let access = MemberAccess(to: kind, context)
    let text = try await context.calculate(on: .max) { () throws(Failure) in
      let before = try stored.map { (stored) throws(Failure) in try Documents.parsed(stored.body) }
      var body = JSONObject()
      if members.count > 0 || isMerge, let before {
        body = (access?.visible(in: before) ?? before).object ?? body
      }
      if isMerge {
        body = body.merging(members)
      } else {
        // A member replaces the stored one as a whole: this is no merge patch.
        for (name, value) in members { body[name] = value == .null ? nil : value }
      }
      let after = try access?.result(ofMember: .object(body), on: before, of: kind)
      return try rule.text(ofMember: after ?? .object(body))
    }
    let version = VersionCondition(oneOf: [stored?.version ?? 0])
    return DocumentWrite(of: kind, text, if: version, isChecked: true)
  }
}

package enum UserRevisionQueries {
  /// Sets the time of the change, and the URL of a picture if `$4` is true.
  ///
  /// The version grows by one, however many statements of the transaction have raised it.
  /// - Parameter 2: the version before the transaction.
  /// - Parameter 3: whether it has written documents. They raise the version too, so that `If-Match`
  ///   refuses a second request of a client that has read the documents before.
  static let finish = Statement<NoRow, UserID, Int, Bool, Bool, String?>(
    "user_revisions.finish",
    """
    update users set picture_url = case when $4::boolean then $5 else picture_url end,
      version = $2::bigint + (version > $2::bigint or $3::boolean
        or $4::boolean and picture_url is distinct from $5)::int,
      updated_at = now()
    where user_id = $1
    """)
}
