internal import DequeModule

/// Limits for the owners of a `FairQueue`: on things lent, and on waiters.
package struct FairLimits: Sendable {
  /// The number of callers that may wait.
  let room: Int
  /// Things that a group may have at once.
  let group: Int
  /// Things that a group may have at once for loans without a member.
  let groupWithoutMembers: Int
  /// Things that a member may have at once.
  let member: Int
  private let things: Int

  /// - Parameters:
  ///   - things: the most that are lent at once.
  ///   - room: the number of callers that may wait. Of the things and the room together, a group
  ///     takes half at most, and a member a quarter.
  ///   - group: things that a group may have at once.
  ///   - groupWithoutMembers: things that a group may have at once for loans without a member.
  ///   - member: things that a member may have at once.
  package init(things: Int, room: Int, group: Int, groupWithoutMembers: Int, member: Int) {
    self.things = things
    self.room = room
    self.group = max(1, group)
    self.groupWithoutMembers = max(1, groupWithoutMembers)
    self.member = max(1, member)
  }

  /// The number of things that a group may have or wait for.
  var roomOfGroup: Int { max(1, (room + things) / 2) }
  /// The number of things that a member may have or wait for.
  var roomOfMember: Int { max(1, (room + things) / 4) }
}

/// The owner of a loan, such as a request.
///
/// Its numbers are hashes by `Hasher`. The key is secret, so no client can choose a collision.
@EventLoop package protocol JobOwner: AnyObject {
  /// The number of the group that shares limits: a network, or an API client.
  var group: Int { get }
  /// The number of the member, which no group has; nil if only the group is known.
  var member: Int? { get }
  /// Whether the owner no longer needs the result.
  var isGone: Bool { get }
}

/// A loan of a thing, or a request for one.
@EventLoop package final class Loan {
  private let owner: (any JobOwner)?
  private var lent: AnyObject?
  private(set) var turn = 0
  /// The numbers of the owner; nil for the server itself.
  ///
  /// They are computed only when owners compete.
  private(set) lazy var keys = owner.map { OwnerKeys(group: $0.group, member: $0.member) }

  init(_ owner: (any JobOwner)?) { self.owner = owner }

  /// The thing that is lent; the loan must have begun.
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

/// The waiters of one group.
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

/// The waiters of one member, in the order in which they came.
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
  private var answer: Answer?
  private var continuation: UnsafeContinuation<Answer, Never>?

  init(_ loan: Loan) { self.loan = loan }

  var isGone: Bool { loan.isGone }
  var isWaiting: Bool { answer == nil }

  /// The group and the line in which it waits.
  ///
  /// The server itself is group 0. Waiters without a member are line 0 of their group.
  var place: (group: Int, member: Int) { (loan.keys?.group ?? 0, loan.keys?.member ?? 0) }

  /// Waits for the answer, which may have come before this call.
  func turn() async throws(FairQueueError) {
    try await unsafe withUnsafeContinuation {
      (continuation: UnsafeContinuation<Answer, Never>) in
      if let answer {
        unsafe continuation.resume(returning: answer)
      } else {
        unsafe self.continuation = continuation
      }
    }.get()
  }

  func resume(_ answer: Answer) {
    guard isWaiting else { return }
    self.answer = answer
    unsafe continuation?.resume(returning: answer)
    unsafe continuation = nil
  }
}
