internal import Crypto
import Encoding
import EventLoop
package import Postgres
package import Runtime

/// Stored responses, replayed to a client that repeats a request with the same idempotency key.
///
/// A request with a key therefore changes data once, even if its first response was lost. Responses
/// to successful requests are stored for a day. A refused request changed nothing, so its key is
/// freed. The key of a request with an unknown result is kept, so that no client repeats it unaware.
/// - Source: draft-ietf-httpapi-idempotency-key-header-07.
package enum IdempotencyRecords {
  /// The largest response that is stored, in bytes.
  package static let largest = 65_536
  private static let lifetime = Duration.seconds(86_400)
  /// How long a request may be in progress; longer than any request takes.
  private static let patience = Duration.seconds(120)

  /// An idempotency key with its owner.
  package struct Key: Sendable {
    package let app: AppID
    package let owner: String
    package let hash: BinaryBytes
    /// The hashes between which the keys of the owner are counted.
    fileprivate let share: (first: BinaryBytes, last: BinaryBytes)
    /// The most keys with such hashes.
    fileprivate let limit: Int

    /// - Parameters:
    ///   - app: the app; nil for the deployment.
    ///   - owner: the user or the client.
    ///   - text: the key as the client sent it.
    ///   - prefix: only keys are counted whose hashes begin with the same bytes, of this number.
    ///   - limit: the most such keys.
    private init(_ app: AppID?, _ owner: String, _ text: String, by prefix: Int, limit: Int) {
      self.app = app ?? .deployment
      self.owner = owner
      self.limit = limit
      let bytes = Array(SHA256.hash(data: Array(text.utf8)))
      hash = BinaryBytes(bytes)
      let start = Array(bytes.prefix(prefix))
      share = (BinaryBytes(start), BinaryBytes(start + Array(repeating: 0xff, count: bytes.count)))
    }

    /// - Parameters:
    ///   - text: the key as the client sent it.
    ///   - user: the user of the request.
    ///   - app: the app of the user.
    package init(_ text: String, of user: UserID, in app: AppID) {
      self.init(app, user.text, text, by: 0, limit: 1_000)
    }

    /// Counts the forms of an administrator as the keys of a client: a day of work has more than 1,000.
    ///
    /// - Parameters:
    ///   - text: the form.
    ///   - administrator: the administrator who sent it.
    package init(_ text: String, of administrator: Administrator) {
      self.init(.operators, administrator.id.text, text, by: 1, limit: 500)
    }

    /// Counts the keys with hashes that begin with the same byte: about 390 of 100,000.
    ///
    /// A count of all would delay other requests.
    /// - Parameters:
    ///   - text: the key as the client sent it.
    ///   - client: the API client of the request.
    ///   - app: the app of the request, if any.
    package init(_ text: String, of client: Client, in app: AppID?) {
      self.init(app, client.id.text, text, by: 1, limit: 500)
    }

    fileprivate var name: String { "answer \(app) \(owner) \(String(hexadecimal: hash.bytes))" }
  }

  package enum Beginning: Sendable {
    /// The first request with the key; `keep` or `forget` must follow.
    case first
    case answered([UInt8])
    /// The key was used for another request.
    case otherRequest
    case underWay
    /// The request began long ago, and has no response: its worker or its connection to the
    /// database was lost.
    case lost
    /// The owner has reached its limit of keys.
    case full
  }

  /// Looks up the stored response, or takes the key.
  ///
  /// - Parameters:
  ///   - key: the key with its owner.
  ///   - request: the bytes that identify the request.
  ///   - context: the context of the request.
  /// - Returns: the state of the key.
  /// - Throws: `.databaseUnavailable`.
  @EventLoop package static func begin(
    _ key: Key, for request: [UInt8], _ context: RequestContext
  ) async throws(Failure) -> Beginning {
    let hash = BinaryBytes(context.keys.master.hash(of: request, by: 0))
    var batch = ReadBatch()
    let (find, started) = (IdempotencyQueries.find, lifetime - patience)
    let kept = batch.add(find, key.app, key.owner, key.hash, started)
    let count = batch.add(
      IdempotencyQueries.count, key.app, key.owner, key.share.first, key.share.last, key.limit
    )
    let results = try await context.read(batch)
    if let found: KeptAnswerRow = try results.first(kept) {
      return state(of: found, key, hash, context)
    }
    if try results.first(count, as: Int.self) == key.limit { return .full }
    let begun = try await context.write(
      IdempotencyQueries.begin, key.app, key.owner, key.hash, hash, lifetime, ServerTime()
    )
    if !begun.isEmpty { return .first }
    // Another request has taken the key since then.
    let found = try await context.read(find, key.app, key.owner, key.hash, started)
    return found.first.map { state(of: $0, key, hash, context) } ?? .underWay
  }

  /// Returns the state of a key that a request has taken.
  @EventLoop private static func state(
    of found: KeptAnswerRow, _ key: Key, _ hash: BinaryBytes, _ context: RequestContext
  ) -> Beginning {
    guard found.request == hash.bytes else { return .otherRequest }
    guard let sealed = found.answer else { return found.isLost ? .lost : .underWay }
    // Its master key may be lost.
    let answer = context.keys.master.opened(sealed, as: key.name)
    return answer.map { $0.isEmpty ? .lost : .answered($0) } ?? .lost
  }

  /// Stores the response; only that there was one if it is too large.
  @EventLoop package static func keep(
    _ answer: [UInt8], for key: Key, _ context: RequestContext
  ) async {
    let stored = answer.count <= largest ? answer : []
    guard let sealed = try? context.keys.master.sealed(stored, as: key.name) else { return }
    // If this write fails, a repeated request is reported as in progress, and then as lost.
    _ = try? await context.write(
      IdempotencyQueries.keep, key.app, key.owner, key.hash, BinaryBytes(sealed), lifetime
    )
  }

  /// Frees the key of a refused request, which has changed nothing.
  @EventLoop package static func forget(_ key: Key, _ context: RequestContext) async {
    _ = try? await context.write(IdempotencyQueries.forget, key.app, key.owner, key.hash)
  }
}

/// A stored response; it is nil while the request is in progress.
struct KeptAnswerRow: RowDecodable {
  let request: [UInt8]
  let answer: [UInt8]?
  /// Whether the request takes longer than any request does.
  let isLost: Bool

  init(from row: Row) throws(DatabaseError) {
    request = try row.binary(0)
    answer = try row.binary(ifAny: 1)
    isLost = try row.bool(2)
  }
}

package enum IdempotencyQueries {
  /// Returns the number of keys of an owner with hashes in a range, up to a limit.
  static let count = Statement<Int, AppID, String, BinaryBytes, BinaryBytes, Int>(
    "idempotency_keys.count",
    """
    select count(*) from (
      select 1 from idempotency_keys
      where app_id = $1 and owner = $2 and key_hash between $3 and $4 limit $5::bigint) kept
    """)

  /// Takes an idempotency key that is unused or expired, and then returns one row.
  static let begin = Statement<
    Bool, AppID, String, BinaryBytes, BinaryBytes, Duration, ServerTime
  >(
    "idempotency_keys.begin",
    """
    insert into idempotency_keys as k (app_id, owner, key_hash, request_hash, expires_at)
    values ($1, $2, $3, $4, now() + $5::interval)
    on conflict (owner, app_id, key_hash) do update
      set request_hash = excluded.request_hash, answer = null, expires_at = excluded.expires_at
      where k.expires_at <= $6::timestamptz
    returning true
    """)

  /// - Parameter 4: how long the rows of lost requests are still kept, at most.
  static let find = Statement<KeptAnswerRow, AppID, String, BinaryBytes, Duration>(
    "idempotency_keys.find",
    """
    select request_hash, answer, expires_at < now() + $4::interval from idempotency_keys
    where app_id = $1 and owner = $2 and key_hash = $3 and expires_at > now()
    """)

  static let keep = Statement<NoRow, AppID, String, BinaryBytes, BinaryBytes, Duration>(
    "idempotency_keys.keep",
    """
    update idempotency_keys set answer = $4, expires_at = now() + $5::interval
    where app_id = $1 and owner = $2 and key_hash = $3
    """)

  static let forget = Statement<NoRow, AppID, String, BinaryBytes>(
    "idempotency_keys.forget",
    "delete from idempotency_keys where app_id = $1 and owner = $2 and key_hash = $3 and answer is null"
  )
}
