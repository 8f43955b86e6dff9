import Postgres
import Runtime

/// Compares an address with others that a user may have meant.
///
/// Case never counts, since the keys of addresses have none. Compared are the addresses that have
/// the same part before the `@`, and those that begin with the same three characters, at most 500 of
/// each in their order.
enum SimilarAddresses {
  /// The most addresses that are returned.
  static let most = 5
  /// The greatest number of changed, missing, additional or exchanged characters.
  private static let farthest = 2

  /// Returns the prefixes by which the addresses are read.
  static func prefixes(of key: String) -> [String] {
    guard let at = key.lastIndex(of: "@"), key.startIndex < at else { return [] }
    let local = key[..<at]
    return ["\(local)@", String(local.prefix(3))]
  }

  /// Returns those of the users whose address is similar, the most similar first.
  static func similar(to key: String, among users: [AddressOfUser]) -> [AddressOfUser] {
    var seen: Set<UserID> = []
    let wanted = Array(key.utf8)
    let plain = bare(key)
    let found = users.compactMap { user -> (distance: Int, user: AddressOfUser)? in
      guard seen.insert(user.user).inserted, user.key != key else { return nil }
      if bare(user.key) == plain { return (0, user) }
      return distance(wanted, Array(user.key.utf8)).map { ($0, user) }
    }
    return found.sorted { ($0.distance, $0.user.key) < ($1.distance, $1.user.key) }
      .prefix(most).map(\.user)
  }

  /// Returns an address without the dots of its first part, and without what follows a plus there.
  private static func bare(_ key: String) -> [UInt8] {
    let bytes = Array(key.utf8)
    guard let at = bytes.lastIndex(of: UInt8(ascii: "@")) else { return bytes }
    let local = bytes[..<at].prefix { $0 != UInt8(ascii: "+") }.filter { $0 != UInt8(ascii: ".") }
    return local + bytes[at...]
  }

  /// Returns the number of changed, missing, additional or exchanged characters; nil if they are more
  /// than `farthest`.
  static func distance(_ one: [UInt8], _ other: [UInt8]) -> Int? {
    guard abs(one.count - other.count) <= farthest else { return nil }
    let far = farthest + 1
    var before = [Int](repeating: far, count: other.count + 1)
    var last = (0...other.count).map { min($0, far) }
    for (row, byte) in one.enumerated() {
      var next = [Int](repeating: far, count: other.count + 1)
      if row < farthest { next[0] = row + 1 }
      let columns = max(0, row - farthest)..<min(other.count, row + farthest + 1)
      for column in columns {
        let isSame = byte == other[column]
        var least = min(last[column] + (isSame ? 0 : 1), last[column + 1] + 1, next[column] + 1)
        if row > 0, column > 0, byte == other[column - 1], one[row - 1] == other[column] {
          least = min(least, before[column - 1] + 1)
        }
        next[column + 1] = least
      }
      guard next.contains(where: { $0 <= farthest }) else { return nil }
      (before, last) = (last, next)
    }
    return last[other.count] <= farthest ? last[other.count] : nil
  }
}

/// A user with its address.
struct AddressOfUser: RowDecodable {
  let user: UserID
  let email: String
  let key: String

  init(_ user: UserID, _ email: String, key: String) {
    (self.user, self.email, self.key) = (user, email, key)
  }

  init(from row: Row) throws(DatabaseError) {
    user = try row.id(0)
    email = try row.text(1)
    key = try row.text(2)
  }
}
