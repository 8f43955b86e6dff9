package import Runtime
import EventLoop
import Encoding
package import Postgres

/// The attempts that rate limits count.
package enum Attempts {
  /// Forgets the failed logins of an address, after a caller has used a token from its mail.
  ///
  /// The right password then logs in at once from the caller's network and device, despite all
  /// attempts of strangers. The allowances of strangers' own networks stay used up.
  /// - Parameters:
  ///   - key: the key of the address.
  ///   - context: the request that verifies the address, with its network and device.
  ///   - transaction: the transaction of that request. Call this last in it, as attempts are locked
  ///     after users.
  /// - Returns: a function that waits for the statement.
  @EventLoop package static func sendForget(
    of key: String,
    _ context: RequestContext,
    in transaction: Transaction
  ) -> Completion {
    let allowances =
      Allowance.fromNetwork(.login, key, context)
      + [Allowance.anywhereHourly(.login, key, context)]
      + [Allowance.onDevice(.login, key, context)].compactMap(\.self)
    let subjects = allowances.map { String(hexadecimal: $0.subject.bytes) }.joined(separator: " ")
    let sent = transaction.send(AttemptProofQueries.forget, context.app.id, subjects)
    return { () async throws(Failure) in _ = try await sent.rows() }
  }
}

package enum AttemptProofQueries {
  /// Deletes counts, in the order in which `attempts.spend` locks them.
  ///
  /// - Parameter 2: subjects in hexadecimal, with spaces between them.
  static let forget = Statement<NoRow, AppID, String>(
    "attempts.forget_proved",
    """
    with locked as (
      select subject from attempts
      where app_id = $1 and subject = any (array(
        select decode(s, 'hex') from unnest(string_to_array($2, ' ')) s))
      order by subject for update
    )
    delete from attempts a using locked l where a.app_id = $1 and a.subject = l.subject
    """
  )

  package static let all: [any PreparedStatement] = [forget]
}
