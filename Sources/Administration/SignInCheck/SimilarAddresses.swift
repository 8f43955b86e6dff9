import Postgres
import Runtime

/// Compares an address with others that a user may have meant.
///
/// Case never counts, since the keys of addresses have none. Compared are at most 500 addresses of each
/// kind, in their order: those with the same name before the `@`, those whose domain also begins with
/// the same three characters, and those that begin with the same three characters.
enum SimilarAddresses {
  /// The most addresses that are returned.
  static let most = 5
  /// The greatest number of changed, missing, additional or exchanged characters.
  private static let farthest = 2

  /// Returns the prefixes by which the addresses are read.
  static func prefixes(of key: String) -> [String] {
    guard let at = key.lastIndex(of: "@"), key.startIndex < at else { return [] }
    let local = key[..<at]
    return ["\(local)@", "\(local)\(key[at...].prefix(4))", String(local.prefix(3))]
  }

  /// Returns those of the users whose address is similar, the most similar first.
  ///
  /// Addresses with the same name at an unrelated domain come last. If they are more than `most`, the
  /// name is a common one, and none of them is returned.
  static func similar(to key: String, among users: [AddressOfUser]) -> [AddressOfUser] {
    var seen: Set<UserID> = []
    let found = users.compactMap { user -> (rank: Int, user: AddressOfUser)? in
      guard seen.insert(user.user).inserted, user.key != key else { return nil }
      return rank(of: user.key, for: key).map { ($0, user) }
    }
    let near = found.filter { $0.rank < unrelated }
    let isCommon = found.count - near.count > most
    return (isCommon ? near : found)
      .sorted { ($0.rank, $0.user.key) < ($1.rank, $1.user.key) }
      .prefix(most).map(\.user)
  }

  /// The rank of an address with the same name at an unrelated domain.
  private static let unrelated = farthest + 2

  /// Returns how far an address is from another one; nil if they are not similar.
  private static func rank(of other: String, for key: String) -> Int? {
    let (wanted, found) = (parts(of: key), parts(of: other))
    let isSameName = !wanted.name.isEmpty && wanted.name == found.name
    if isSameName, wanted.domain == found.domain { return 0 }
    if let distance = distance(Array(key.utf8), Array(other.utf8)) { return distance }
    guard isSameName else { return nil }
    if distance(wanted.domain, found.domain) != nil { return farthest }
    let isSibling = label(of: wanted.domain) == label(of: found.domain)
    return isSibling ? farthest + 1 : unrelated
  }

  /// Returns the first label of a domain, such as `example` of `example.com`.
  private static func label(of domain: [UInt8]) -> [UInt8] {
    Array(domain.prefix { $0 != UInt8(ascii: ".") })
  }

  /// Returns whether two addresses have the same name, and only their domains differ.
  static func hasOtherDomain(_ one: String, _ other: String) -> Bool {
    let (one, other) = (parts(of: one), parts(of: other))
    return one.name == other.name && one.domain != other.domain
  }

  /// Returns the name and the domain of an address.
  ///
  /// The name has no dots, and nothing from a plus on. A text without `@` has no name.
  private static func parts(of key: String) -> (name: [UInt8], domain: [UInt8]) {
    let bytes = Array(key.utf8)
    guard let at = bytes.lastIndex(of: UInt8(ascii: "@")) else { return ([], bytes) }
    let name = bytes[..<at].prefix { $0 != UInt8(ascii: "+") }.filter { $0 != UInt8(ascii: ".") }
    return (name, Array(bytes[(at + 1)...]))
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
