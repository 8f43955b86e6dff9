import EventLoop
package import Postgres

/// Limits how often a secret may be guessed, and how often mail may be asked for.
///
/// Attempts are counted before they are made, in the database: all workers count together, and many
/// attempts at once are many. A success takes its own away again.
struct FailureGuard {
  private let identifier: BinaryBytes
  private let address: BinaryBytes
  private let context: Context

  /// Each purpose is counted for itself, and so is each identifier, known or not.
  @EventLoop init(_ purpose: String, on identifier: String, _ context: Context) {
    let master = context.store.keys.master
    let network = String(hexadecimal: context.origin.network)
    self.identifier = BinaryBytes(master.failureSubject("\(purpose) \(identifier)"))
    address = BinaryBytes(master.failureSubject("\(purpose) from \(network)"))
    self.context = context
  }

  /// Counts an attempt.
  ///
  /// - Throws: `.tooManyAttempts` when there were too many, `.unavailable`.
  @EventLoop func attempt() async throws(Failure) {
    let settings = context.app.settings
    let rows = try await context.store.write(
      FailureQueries.attempt,
      context.app.id,
      identifier,
      address,
      settings.number(.failureMinutes),
      settings.number(.failuresPerIdentifier),
      settings.number(.failuresPerAddress)
    )
    if let seconds = rows.first, seconds > 0 { throw .tooManyAttempts(retryAfter: seconds) }
  }

  /// Takes the attempt away: it was no failure.
  @EventLoop func succeed(in transaction: Transaction) async throws(DatabaseError) {
    _ = try await transaction.run(FailureQueries.succeed, context.app.id, identifier, address)
  }
}

package enum FailureQueries {
  /// How many seconds to wait; 0 when the attempt may be made.
  static let attempt = Statement<Int, AppID, BinaryBytes, BinaryBytes, Int, Int, Int>(
    "failures.attempt",
    """
    with counted as (
      insert into failures as f (app_id, subject, count, until)
      select $1, subject, 1, now() + $4::bigint * interval '1 minute'
      from unnest(array[$2::bytea, $3::bytea]) as s (subject) order by subject
      on conflict (app_id, subject) do update set
        count = case when f.until <= now() then 1 else f.count + 1 end,
        until = case when f.until <= now() then excluded.until else f.until end
      returning subject, count, until
    )
    select coalesce(max(ceil(extract(epoch from until - now())))::int, 0) from counted
    where count > case subject when $2::bytea then $5::bigint else $6::bigint end
    """
  )

  /// The identifier's count starts anew: whoever knows the secret has shown it.
  static let succeed = Statement<NoRow, AppID, BinaryBytes, BinaryBytes>(
    "failures.succeed",
    """
    with forgiven as (delete from failures where app_id = $1 and subject = $2)
    update failures set count = greatest(count - 1, 0) where app_id = $1 and subject = $3
    """
  )

  package static let all: [any PreparedStatement] = [attempt, succeed]
}
