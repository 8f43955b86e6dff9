internal import DequeModule

/// How much of what a `FairQueue` lends one owner may have.
package struct FairLimits: Sendable {
  /// How many may wait.
  let room: Int
  /// Things that a group may have at once.
  let group: Int
  /// Things that a group may have at once for what is no member's.
  let groupWithoutMembers: Int
  /// Things that a member may have at once.
  let member: Int
  private let things: Int

  /// - Parameters:
  ///   - things: as many as are lent at most.
  ///   - room: how many may wait. Of these and of the things a group has half at most, and a member
  ///     a quarter.
  ///   - group: things that a group may have at once.
  ///   - groupWithoutMembers: things that a group may have at once for what is no member's.
  ///   - member: things that a member may have at once.
  package init(things: Int, room: Int, group: Int, groupWithoutMembers: Int, member: Int) {
    self.things = things
    self.room = room
    self.group = max(1, group)
    self.groupWithoutMembers = max(1, groupWithoutMembers)
    self.member = max(1, member)
  }

  /// How many a group may have and wait for.
  var roomOfGroup: Int { max(1, (room + things) / 2) }
  /// How many a member may have and wait for.
  var roomOfMember: Int { max(1, (room + things) / 4) }
}

/// For whom something is lent.
///
/// The numbers are hashes by `Hasher`, whose key nobody outside knows.
@EventLoop package protocol JobOwner: AnyObject {
  /// Who counts together: a network, or a program.
  var group: Int { get }
  /// One of the group, under a number that no group has; nil where the group is all that is known.
  var member: Int? { get }
  /// Whether nobody waits for the result any more.
  var isGone: Bool { get }
}

/// A thing that is lent, or will be.
@EventLoop package final class Loan {
  private let owner: (any JobOwner)?
  private var lent: AnyObject?
  private(set) var turn = 0
  /// For whom; nil for the server itself.
  ///
  /// Computed only where several meet.
  private(set) lazy var keys = owner.map { OwnerKeys(group: $0.group, member: $0.member) }

  init(_ owner: (any JobOwner)?) { self.owner = owner }

  /// What is lent.
  package var thing: AnyObject {
    guard let lent else { preconditionFailure("a loan that has not begun") }
    return lent
  }

  var isGone: Bool { owner?.isGone ?? false }

  func begin(_ thing: AnyObject, _ turn: Int) {
    lent = thing
    self.turn = turn
  }
}

struct OwnerKeys: Equatable {
  let group: Int
  let member: Int?
}

/// Who of one group waits.
@EventLoop final class WaitingGroup {
  var turn: Int
  private let arrival: Int
  var count = 0
  var lines: [Int: WaitingLine] = [:]

  init(turn: Int, arrival: Int) {
    self.turn = turn
    self.arrival = arrival
  }

  func precedes(_ other: WaitingGroup) -> Bool { (turn, arrival) < (other.turn, other.arrival) }
}

/// What of one member waits, in the order in which it came.
@EventLoop final class WaitingLine {
  var turn: Int
  private let arrival: Int
  var waiters = Deque<Waiter>()

  init(turn: Int, arrival: Int) {
    self.turn = turn
    self.arrival = arrival
  }

  func precedes(_ other: WaitingLine) -> Bool { (turn, arrival) < (other.turn, other.arrival) }
}

@safe @EventLoop final class Waiter {
  typealias Answer = Result<Void, FairQueueError>
  let loan: Loan
  private(set) var isWaiting = true
  private var continuation: UnsafeContinuation<Answer, Never>?

  init(_ loan: Loan) { self.loan = loan }

  var isGone: Bool { loan.isGone }

  /// Where it waits.
  ///
  /// The server itself is a group, and what is no member's is a line.
  var place: (group: Int, member: Int) { (loan.keys?.group ?? 0, loan.keys?.member ?? 0) }

  func turn() async throws(FairQueueError) {
    try await unsafe withUnsafeContinuation { unsafe continuation = $0 }.get()
  }

  func resume(_ answer: Answer) {
    guard isWaiting else { return }
    isWaiting = false
    unsafe continuation?.resume(returning: answer)
    unsafe continuation = nil
  }
}
