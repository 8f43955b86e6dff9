import Documents
package import Accounts
import EventLoop
import JSON
import Postgres
package import Runtime

extension Users {
  /// Registers a user with members of the profile and documents, in one transaction.
  ///
  /// - Returns: the user.
  /// - Throws: as `registerOnly`; `.memberNotWritable`, `.schemaMismatch`, `.documentTooLarge`.
  @EventLoop package static func registerOnly(
    _ credentials: Credentials, with members: UserRevision, _ context: RequestContext
  ) async throws(Failure) -> UserID {
    var writes: [DocumentWrite] = []
    for (kind, members) in members.documents {
      let rule = try DocumentRule(of: kind, in: context.app)
      // A stranger may write what the user may write.
      let access = MemberAccess(to: kind, in: context.app)
      let text = try await context.calculate(on: .max) { () throws(Failure) in
        let after = try access?.result(ofMember: .object(members), on: nil, of: kind)
        return try rule.text(ofMember: after ?? .object(members))
      }
      let first = VersionCondition(oneOf: [0])
      writes.append(DocumentWrite(of: kind, text, if: first))
    }
    return try await registerOnly(credentials, context) {
      [writes] (transaction, user) async throws(Failure) in
      // No user is signed in yet who could write.
      let system = transaction.acting(
        as: Principal(.system, in: context.app.id, scopes: .everything)
      )
      for write in writes { try await write.run(of: user, in: system) }
      if members.profile.count > 0 {
        try await Profiles.change(members.profile, of: user, in: system)
      }
      if let url = members.pictureURL?.string {
        _ = transaction.send(UserRevisionQueries.finish, user, 1, false, true, url)
      }
    }
  }
}
