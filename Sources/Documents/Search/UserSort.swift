package import Accounts
import Encoding
import JSON
package import Postgres
package import Runtime

/// An order of a list of users, which an index serves in both directions.
///
/// An order by email or name leaves out the users without one, since the index does. Users with the
/// same value are in the order of their ids.
package enum UserSort: String, Sendable, CaseIterable {
  case newest = "-created_at"
  case oldest = "created_at"
  case email
  case emailDescending = "-email"
  case name
  case nameDescending = "-name"

  var isDescending: Bool { rawValue.utf8.first == UInt8(ascii: "-") }

  fileprivate var member: ProfileMember {
    switch self {
    case .newest, .oldest: .createdAt
    case .email, .emailDescending: .email
    case .name, .nameDescending: .name
    }
  }

  /// The column whose value a position has.
  var storedValue: StaticString {
    switch self {
    case .newest, .oldest: " u.created_at::text as value"
    case .email, .emailDescending: " u.email as value"
    case .name, .nameDescending: " u.name as value"
    }
  }

  /// The column whose null keeps a user out of the order.
  var requiredColumn: StaticString? { member.keyed?.column }

  /// Whether a position can be one of a list in this order.
  package func isOrder(of position: UserPosition) -> Bool {
    guard let value = position.value else { return false }
    return member != .createdAt || Timestamp(stored: Array(value.utf8)) != nil
  }
}

/// A place in a list of users: after a user that had this value.
///
/// It stays valid if the user is changed or deleted.
package struct UserPosition: LosslessStringConvertible, Sendable, Equatable {
  package let user: UserID
  /// The value by which the list is ordered; nil in the order of the ids.
  let value: String?

  /// More than the greatest name takes.
  private static let longest = 4_096

  init(_ user: UserID, _ value: String?) { (self.user, self.value) = (user, value) }

  /// Parses `description`; a value must be UTF-8 that PostgreSQL can store.
  package init?(_ text: String) {
    let parts = text.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
    guard text.utf8.count <= Self.longest, let user = UserID(parts[0]) else { return nil }
    self.user = user
    guard parts.count > 1 else {
      value = nil
      return
    }
    guard let bytes = [UInt8](base64URL: parts[1]), !bytes.contains(0),
      let value = String(validating: bytes, as: UTF8.self)
    else { return nil }
    self.value = value
  }

  /// The id, and the value in Base64.
  package var description: String {
    guard let value else { return user.text }
    return "\(user.text).\(Array(value.utf8).base64URL)"
  }
}

/// A user in a list.
package struct ListedUser: Listed {
  package let profile: Profile
  package let cursor: UserPosition
  package let lastLogin: Timestamp?

  package init(from row: Row) throws(DatabaseError) {
    profile = try Profile(from: row)
    cursor = UserPosition(profile.id, row.text(ifAny: 16))
    lastLogin = try row.time(ifAny: 17)
  }
}

extension ComposedSearch {
  /// Appends the condition that a user stands after a position.
  mutating func follow(_ position: UserPosition, by sort: UserSort?) {
    guard let sort, let value = position.value else {
      append(" and u.user_id > ")
      return statement.bind(position.user, as: "text")
    }
    append(" and (")
    append(sort.member.column)
    append(sort.isDescending ? ", u.user_id) < (" : ", u.user_id) > (")
    operand(sort.member.kind == .time ? .time(value) : .text(value), sort.member.keyed?.call)
    append(", ")
    statement.bind(position.user, as: "text")
    append(")")
  }

  /// Appends the order of a page.
  ///
  /// A member that all users of the page share comes first, so that the planner takes its index.
  mutating func order(by sort: UserSort?, _ shared: ProfileMember?) {
    if let column = sort?.member.column ?? shared?.column {
      append(column)
      append(sort?.isDescending == true ? " desc, " : ", ")
    }
    append(sort?.isDescending == true ? "u.user_id desc" : "u.user_id")
  }
}

/// The number of users in a list.
package struct UserTotal: Sendable, Equatable {
  package let count: Int
  package let precision: Precision

  package enum Precision: Sendable {
    case exact
    /// At least so many users match; the others were not read.
    case minimum
    /// The planner's estimate, from the statistics of the last `analyze`.
    case estimate
  }
}

/// The number of rows that the planner expects of a statement.
package struct PlannedRows: RowDecodable {
  let count: Int

  package init(from row: Row) throws(DatabaseError) {
    guard let count = Self.count(in: try row.json(0)) else {
      throw DatabaseError(.unexpectedColumn, "the plan has no number of rows")
    }
    self.count = count
  }

  /// Returns the number in the JSON of `explain`.
  ///
  /// Citus explains one of the equal tasks of the shards.
  static func count(in explained: JSON) -> Int? {
    guard let plan = explained.array?.first?["Plan"] else { return nil }
    guard let job = plan["Distributed Query"]?["Job"] else { return plan["Plan Rows"]?.number?.int }
    let remote = job["Tasks"]?.array?.first?["Remote Plan"]?.array?.first
    guard let tasks = job["Task Count"]?.number?.int, let remote, let rows = count(in: remote)
    else { return nil }
    let (product, isTooLarge) = tasks.multipliedReportingOverflow(by: rows)
    return isTooLarge ? nil : product
  }
}
