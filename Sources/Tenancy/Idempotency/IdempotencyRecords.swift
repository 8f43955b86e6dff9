internal import Crypto
package import Runtime
import EventLoop
import Encoding
package import Postgres

/// Stored responses, replayed to a client that repeats a request with the same idempotency key.
///
/// A request with a key therefore changes data once, even if its first response was lost. Responses
/// to successful requests are stored for a day. A refused request changed nothing, so its key is
/// freed.
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
    package let user: UserID?
    package let hash: BinaryBytes
    package let limit: Int

    private init(_ app: AppID?, _ owner: String, _ user: UserID?, _ text: String, limit: Int) {
      self.app = app ?? .deployment
      self.owner = owner
      self.user = user
      self.limit = limit
      hash = BinaryBytes(Array(SHA256.hash(data: Array(text.utf8))))
    }

    /// - Parameters:
    ///   - text: the key as the client sent it.
    ///   - user: the user of the request.
    ///   - app: the app of the user.
    package init(_ text: String, of user: UserID, in app: AppID) {
      self.init(app, user.text, user, text, limit: 1_000)
    }

    /// - Parameters:
    ///   - text: the key as the client sent it.
    ///   - client: the API client of the request.
    ///   - app: the app of the request, if any.
    package init(_ text: String, of client: Client, in app: AppID?) {
      self.init(app, client.id.text, nil, text, limit: 100_000)
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
  /// - Throws: `.sessionEnded` if the session of the user has ended, `.databaseUnavailable`.
  @EventLoop package static func begin(
    _ key: Key,
    for request: [UInt8],
    _ context: RequestContext
  ) async throws(Failure) -> Beginning {
    let hash = BinaryBytes(context.keys.master.hash(of: request, by: 0))
    let begun = try await context.write(
      IdempotencyQueries.begin,
      key.app,
      key.owner,
      key.user,
      key.hash,
      hash,
      patience,
      key.limit,
      ServerTime()
    )
    if !begun.isEmpty { return .first }
    let found = try await context.read(IdempotencyQueries.find, key.app, key.owner, key.hash)
    guard let found = found.first else { return .full }
    guard found.request == hash.bytes else { return .otherRequest }
    guard let sealed = found.answer else { return .underWay }
    // Sealed with a master key we no longer have: treat the request as in progress.
    guard let answer = try? context.keys.master.opened(sealed, as: key.name) else {
      return .underWay
    }
    return .answered(answer)
  }

  /// Stores the response, or frees the key if the response is too large.
  @EventLoop package static func keep(
    _ answer: [UInt8],
    for key: Key,
    _ context: RequestContext
  ) async {
    guard answer.count <= largest,
      let sealed = try? context.keys.master.sealed(answer, as: key.name)
    else { return await forget(key, context) }
    // If this write fails, a repeated request is reported as still in progress.
    _ = try? await context.write(
      IdempotencyQueries.keep,
      key.app,
      key.owner,
      key.hash,
      BinaryBytes(sealed),
      lifetime
    )
  }

  /// Frees the key of a refused request.
  @EventLoop package static func forget(_ key: Key, _ context: RequestContext) async {
    _ = try? await context.write(IdempotencyQueries.forget, key.app, key.owner, key.hash)
  }
}
