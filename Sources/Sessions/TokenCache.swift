import Runtime
import EventLoop
import Glibc

/// Verified tokens in two generations.
///
/// When the younger is full, the older is dropped.
///
/// The last eight bytes of a token, a part of its signature, are its hash. Then all bytes are
/// compared. Only the holder of the signing key can make tokens with the same hash.
struct TokenCache {
  final class Entry {
    let token: [UInt8]
    let principal: Principal
    /// The audience; nil for a native token.
    let audience: [String]?
    /// Whether the token is for the API of the app's `/v1`.
    let isForUserData: Bool
    let expires: Int
    /// The keys of the app, and how many had been removed when the token was verified.
    let keys: AppKeys
    let removals: Int

    @EventLoop init(
      token: [UInt8], principal: Principal, audience: [String]? = nil, isForUserData: Bool = true,
      expires: Int, keys: AppKeys
    ) {
      self.token = token
      self.principal = principal
      self.audience = audience
      self.isForUserData = isForUserData
      self.expires = expires
      self.keys = keys
      removals = keys.removals
    }

    fileprivate func isOf(_ other: Span<UInt8>) -> Bool {
      guard token.count == other.count else { return false }
      return token.withUnsafeBytes { token in
        other.withUnsafeBytes { other in
          guard let first = token.baseAddress, let second = other.baseAddress else { return true }
          return memcmp(first, second, token.count) == 0
        }
      }
    }
  }

  /// About 1 KB each, so some 20 MB when both generations are full.
  private let generationSize: Int
  /// Bytes of tokens in one generation: tokens with data of users in them are far longer than others.
  private let generationBytes = 10_485_760
  private var youngBytes = 0
  private var young: [UInt64: Entry] = [:]
  private var old: [UInt64: Entry] = [:]

  init(generationSize: Int = 10_000) { self.generationSize = generationSize }

  /// How many are remembered.
  var count: Int { young.count + old.count }

  subscript(token: Span<UInt8>) -> Entry? {
    mutating get {
      let place = Self.place(of: token)
      if let entry = young[place], entry.isOf(token) { return entry }
      guard let entry = old[place], entry.isOf(token) else { return nil }
      insert(entry)
      return entry
    }
  }

  mutating func insert(_ entry: Entry) {
    if young.count >= generationSize || youngBytes >= generationBytes {
      old = young
      young = [:]
      youngBytes = 0
    }
    let token = entry.token
    youngBytes += token.count
    young[Self.place(of: token.span)] = entry
  }

  private static func place(of token: Span<UInt8>) -> UInt64 {
    var place: UInt64 = 0
    for index in max(0, token.count - 8)..<token.count {
      place = place << 8 | UInt64(token[index])
    }
    return place
  }
}
