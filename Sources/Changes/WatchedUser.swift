import EventLoop
package import Postgres
package import Runtime

/// The row of a connected user in a pass over all of them.
package struct WatchedUser: RowDecodable {
  package let id: UserID
  private let isBlocked: Bool
  /// The reasons of ended sessions; empty for live ones.
  private let sessions: [Substring: Substring]
  /// In the order of `UserPart.allCases`; nil for a number that the pass left out.
  private let numbers: [Int?]

  package init(from row: Row) throws(DatabaseError) {
    id = UserID(trusted: try row.text(0))
    isBlocked = try row.bool(1)
    var sessions: [Substring: Substring] = [:]
    for entry in try row.text(2).split(separator: " ") {
      let parts = entry.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
      if parts.count == 2 { sessions[parts[0]] = parts[1] }
    }
    self.sessions = sessions
    var numbers: [Int?] = []
    for place in UserPart.allCases.indices { numbers.append(try row.int(ifAny: place + 3)) }
    self.numbers = numbers
  }

  /// Returns why a session is over; nil while it is live.
  package func endReason(of session: SessionID) -> String? {
    if isBlocked { return "blocked" }
    guard let reason = sessions[session.text[...]] else { return Self.gone }
    return reason.isEmpty ? nil : String(reason)
  }

  /// The reason for the end of a session that does not exist any more.
  package static let gone = "ended"

  /// Returns the state of the user, with numbers of an earlier one where the pass left them out.
  ///
  /// Returns nil if there is neither.
  package func state(after earlier: UserState?) -> UserState? {
    var all: [Int] = []
    for (place, number) in numbers.enumerated() {
      guard let number = number ?? earlier?.numbers[place] else { return nil }
      all.append(number)
    }
    return UserState(all)
  }
}

extension UserChanges {
  /// Reads the states of users, in one statement.
  ///
  /// - Parameters:
  ///   - users: the ids of at most 500 users.
  ///   - sessions: the ids of their sessions that have a stream.
  ///   - isWhole: whether to read all parts, and not only those that are read fast.
  ///   - database: the database.
  /// - Returns: a row for each user who exists.
  /// - Throws: the error of the database.
  package static func watch(
    _ users: [UserID], _ sessions: [SessionID], isWhole: Bool, in database: Database
  ) async throws(DatabaseError) -> [WatchedUser] {
    try await database.search(
      UserStateQueries.watch, TextArray(users.map(\.text)), TextArray(sessions.map(\.text)), isWhole
    )
  }
}
