import Tenancy
import EventLoop
import JSON
package import Postgres
package import Runtime

extension Sessions {
  /// Revokes API keys and linked identities, and records that.
  ///
  /// The caller also ends sessions, which removes the user from devices.
  /// - Throws: `.databaseUnavailable`.
  package static func revokeCredentials(
    of user: UserID, in transaction: Transaction
  ) async throws(Failure) {
    let context = transaction.context
    let identities = transaction.send(CredentialRevocationQueries.removeIdentities, user)
    _ = transaction.send(CredentialRevocationQueries.removeKeys, user)
    let actor = context.principal
    let removed = try await identities.rows()
    let subjects = removed.compactMap { Subject(ofIdentityAt: $0.provider, $0.name) }
    Subjects.release(subjects, of: user, in: transaction)
    for identity in removed where identity.provider != .anonymous {
      let place = EventPlace(session: nil, device: nil)
      Event("unlink", of: user, at: place, detail: ["provider": .string(identity.provider.text)])
        .record(in: transaction, by: actor)
    }
  }
}

package enum CredentialRevocationQueries {
  /// Deletes and returns the identities without an address.
  static let removeIdentities = Statement<Subject, UserID>(
    "credential_revocations.remove_identities",
    """
    delete from identities where user_id = $1 and provider not in ('password', 'email')
    returning provider, subject
    """)

  static let removeKeys = Statement<NoRow, UserID>(
    "credential_revocations.remove_keys",
    """
    with keys as (delete from api_keys where user_id = $1)
    update users set version = version + 1, updated_at = now() where user_id = $1
    """)

  package static let all: [any PreparedStatement] = [removeIdentities, removeKeys]
}
