internal import Crypto
import EventLoop
import Notation
import Postgres

/// Answers that are given again to whoever sends the same request once more, by a key of its own
/// choosing: what was done is done once, whatever became of the first answer.
///
/// Kept is what was done, for a day. What was refused has changed nothing, and its key is free again.
/// - Source: draft-ietf-httpapi-idempotency-key-header-07.
package enum KeptAnswers {
  /// Bytes of an answer that is kept.
  package static let largest = 65_536
  private static let lifetime = Duration.seconds(86_400)
  /// Longer than any request takes.
  private static let patience = Duration.seconds(120)

  /// Who asks, and by which key.
  package struct Key: Sendable {
    let app: AppID
    let owner: String
    let user: UserID?
    let hash: BinaryBytes
    let limit: Int

    private init(_ app: AppID?, _ owner: String, _ user: UserID?, _ text: String, limit: Int) {
      self.app = app ?? .deployment
      self.owner = owner
      self.user = user
      self.limit = limit
      hash = BinaryBytes(Array(SHA256.hash(data: Array(text.utf8))))
    }

    /// - Parameters:
    ///   - text: as the client sent it.
    ///   - user: the user that asks.
    ///   - app: the app of the user.
    package init(_ text: String, of user: UserID, in app: AppID) {
      self.init(app, user.text, user, text, limit: 1_000)
    }

    /// - Parameters:
    ///   - text: as the client sent it.
    ///   - client: the program that asks.
    ///   - app: which it asks for, if any.
    package init(_ text: String, of client: Client, in app: AppID?) {
      self.init(app, client.id.text, nil, text, limit: 100_000)
    }

    fileprivate var name: String { "answer \(app) \(owner) \(String(hexadecimal: hash.bytes))" }
  }

  package enum Beginning: Sendable {
    /// It is the first; `keep` or `forget` must follow.
    case first
    case answered([UInt8])
    /// The key was used for another request.
    case otherRequest
    case underWay
    /// As many are kept as may be.
    case full
  }

  /// Looks for an answer, or takes the key.
  ///
  /// - Parameters:
  ///   - key: whose, and which.
  ///   - request: all of it that counts.
  ///   - context: the context of the request.
  /// - Returns: what is to be done.
  /// - Throws: `.unauthenticated` for a user whose session has ended, `.unavailable`.
  @EventLoop package static func begin(
    _ key: Key,
    for request: [UInt8],
    _ context: RequestContext
  ) async throws(Failure) -> Beginning {
    let hash = BinaryBytes(context.keys.master.hash(of: request, by: 0))
    let begun = try await context.write(
      KeptAnswerQueries.begin,
      key.app,
      key.owner,
      key.user,
      key.hash,
      hash,
      patience,
      key.limit
    )
    if !begun.isEmpty { return .first }
    let found = try await context.read(KeptAnswerQueries.find, key.app, key.owner, key.hash)
    guard let found = found.first else { return .full }
    guard found.request == hash.bytes else { return .otherRequest }
    guard let sealed = found.answer else { return .underWay }
    // Of a master key that is there no more: what was done is not done again.
    guard let answer = try? context.keys.master.opened(sealed, as: key.name) else {
      return .underWay
    }
    return .answered(answer)
  }

  /// Keeps the answer; one that is too large is forgotten.
  @EventLoop package static func keep(
    _ answer: [UInt8],
    for key: Key,
    _ context: RequestContext
  ) async {
    guard answer.count <= largest,
      let sealed = try? context.keys.master.sealed(answer, as: key.name)
    else { return await forget(key, context) }
    // When it cannot be written, whoever comes again hears that the first is under way.
    _ = try? await context.write(
      KeptAnswerQueries.keep,
      key.app,
      key.owner,
      key.hash,
      BinaryBytes(sealed),
      lifetime
    )
  }

  /// Frees the key of a request that was refused.
  @EventLoop package static func forget(_ key: Key, _ context: RequestContext) async {
    _ = try? await context.write(KeptAnswerQueries.forget, key.app, key.owner, key.hash)
  }
}
