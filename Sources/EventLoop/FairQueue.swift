internal import DequeModule

/// Lends things of one kind, such as threads or connections, and gives no owner all of them.
///
/// If none is free, the caller waits here, on the loop. The wait ends when its time is up, or when
/// the owner no longer needs the result. Groups take turns, and so do the members of each group.
@EventLoop package final class FairQueue {
  private let limits: FairLimits
  private var free: [AnyObject] = []
  private var loans: [Loan] = []
  private var groups: [Int: WaitingGroup] = [:]
  /// The number of waiters of each member, over all groups.
  private var members: [Int: Int] = [:]
  package private(set) var waiting = 0
  /// The number of the last turn, which grows by two with each turn.
  ///
  /// New waiters get odd numbers. A new waiter comes before the owner of the last turn, and after
  /// all owners that have waited longer.
  private var turns = 0
  private var arrivals = 0

  package nonisolated init(_ limits: FairLimits) { self.limits = limits }

  /// The number of things that are lent now.
  package var lent: Int { loans.count }
  package var hasFree: Bool { !free.isEmpty }

  // MARK: Things

  /// Adds a thing to lend, and lends it at once if a waiter may have it.
  package func add(_ thing: AnyObject) {
    free.append(thing)
    serve()
  }

  /// Removes useless things among those that are not lent.
  package func removeFree(where isUseless: (AnyObject) -> Bool) { free.removeAll(where: isUseless) }

  /// Lends a thing without waiting; nil if none is free, or if the owner has reached its limit.
  ///
  /// It overtakes no waiter: a thing is free only if no waiter may have it.
  package func takeAtOnce(for owner: (any JobOwner)?) -> Loan? {
    guard !free.isEmpty else { return nil }
    let loan = Loan(owner)
    guard loans.isEmpty || isAllowed(loan) else { return nil }
    start(loan)
    return loan
  }

  /// Lends a thing when the owner's turn has come.
  ///
  /// - Parameters:
  ///   - owner: the owner of the loan; nil for the server itself, which only the room limits.
  ///   - latest: the time at which the caller stops waiting, by `EventLoop.now()`.
  /// - Returns: the loan, which the caller ends by `giveBack`.
  /// - Throws: the reason why nothing is lent.
  package func take(
    for owner: (any JobOwner)?, until latest: UInt64
  ) async throws(FairQueueError) -> Loan {
    guard owner?.isGone != true else { throw .abandoned }
    if let loan = takeAtOnce(for: owner) { return loan }
    let loan = Loan(owner)
    if refusal(of: loan) != nil { dropAbandoned() }
    if let refusal = refusal(of: loan) { throw refusal }
    let waiter = Waiter(loan)
    append(waiter)
    let now = EventLoop.now()
    let timer = Timer(after: .nanoseconds(Int64(clamping: latest - min(now, latest)))) {
      [weak self] in
      guard let self, waiter.isWaiting else { return }
      drop(waiter, .late)
    }
    defer { timer.cancel() }
    try await waiter.turn()
    return loan
  }

  /// Ends a loan.
  ///
  /// - Parameters:
  ///   - loan: the loan to end.
  ///   - isUsable: whether the thing may be lent again.
  package func giveBack(_ loan: Loan, isUsable: Bool = true) {
    if let index = loans.firstIndex(where: { $0 === loan }) { loans.remove(at: index) }
    if isUsable { free.append(loan.thing) }
    serve()
  }

  /// Refuses all waiters with `.withdrawn`, because nothing will be lent soon.
  package func dropAll() {
    for waiter in allWaiting { drop(waiter, .withdrawn) }
  }

  // MARK: Limits

  private func isAllowed(_ loan: Loan) -> Bool {
    guard let keys = loan.keys else { return true }
    // Counts the member's loans in all groups; without a member, the group's loans without one.
    var (ofGroup, ofMember) = (0, 0)
    for other in loans {
      guard let others = other.keys else { continue }
      if others.group == keys.group { ofGroup += 1 }
      if let member = keys.member {
        if others.member == member { ofMember += 1 }
      } else if others == keys {
        ofMember += 1
      }
    }
    return ofGroup < limits.group
      && ofMember < (keys.member == nil ? limits.groupWithoutMembers : limits.member)
  }

  private func refusal(of loan: Loan) -> FairQueueError? {
    if let keys = loan.keys {
      let ofGroup = loans.count { $0.keys?.group == keys.group } + (groups[keys.group]?.count ?? 0)
      guard ofGroup < limits.roomOfGroup else { return .shareTaken }
      if let member = keys.member {
        let ofMember = loans.count { $0.keys?.member == member } + (members[member] ?? 0)
        guard ofMember < limits.roomOfMember else { return .shareTaken }
      }
    }
    return waiting < limits.room ? nil : .full
  }

  // MARK: Turns

  private func start(_ loan: Loan) {
    turns += 2
    loan.begin(free.removeLast(), turns)
    loans.append(loan)
  }

  private func serve() {
    while !free.isEmpty, let waiter = next() {
      remove(waiter)
      if waiter.isGone {
        waiter.resume(.failure(.abandoned))
      } else {
        start(waiter.loan)
        let group = groups[waiter.place.group]
        group?.turn = turns
        group?.lines[waiter.place.member]?.turn = turns
        waiter.resume(.success(()))
      }
    }
  }

  /// Returns the waiter that gets the next thing; nil if no waiter may have one.
  ///
  /// It chooses the group with the oldest last turn, and likewise a member of that group. Of one
  /// member's waiters, it chooses the first.
  private func next() -> Waiter? {
    var (best, most): (Waiter?, WaitingGroup?) = (nil, nil)
    for group in groups.values where most.map({ group.precedes($0) }) ?? true {
      var line: WaitingLine?
      for other in group.lines.values where line.map({ other.precedes($0) }) ?? true {
        if let first = other.waiters.first, isAllowed(first.loan) { line = other }
      }
      if let line { (best, most) = (line.waiters.first, group) }
    }
    return best
  }

  // MARK: The room

  private func append(_ waiter: Waiter) {
    let place = waiter.place
    arrivals += 1
    waiting += 1
    let keys = waiter.loan.keys
    if let member = keys?.member { members[member, default: 0] += 1 }
    let group =
      groups[place.group]
      ?? WaitingGroup(turn: lastTurn { $0.keys?.group == keys?.group }, arrival: arrivals)
    groups[place.group] = group
    group.count += 1
    let line =
      group.lines[place.member]
      ?? WaitingLine(turn: lastTurn { $0.keys == keys }, arrival: arrivals)
    group.lines[place.member] = line
    line.waiters.append(waiter)
  }

  /// Returns the latest turn of the matching loans; without any, that of a new waiter.
  private func lastTurn(of isOne: (Loan) -> Bool) -> Int {
    loans.lazy.filter(isOne).map(\.turn).max() ?? turns - 1
  }

  private func remove(_ waiter: Waiter) {
    let place = waiter.place
    guard let group = groups[place.group], let line = group.lines[place.member],
      let index = line.waiters.firstIndex(where: { $0 === waiter })
    else { return }
    line.waiters.remove(at: index)
    waiting -= 1
    group.count -= 1
    if let member = waiter.loan.keys?.member, let count = members[member] {
      members[member] = count > 1 ? count - 1 : nil
    }
    if line.waiters.isEmpty { group.lines[place.member] = nil }
    if group.lines.isEmpty { groups[place.group] = nil }
  }

  private func drop(_ waiter: Waiter, _ error: FairQueueError) {
    remove(waiter)
    waiter.resume(.failure(error))
  }

  private var allWaiting: [Waiter] {
    groups.values.flatMap { $0.lines.values.flatMap { Array($0.waiters) } }
  }

  private func dropAbandoned() {
    for waiter in allWaiting where waiter.isGone { drop(waiter, .abandoned) }
  }
}

package enum FairQueueError: Error {
  /// The room is full.
  case full
  /// The group or member has reached its limit of things and waiters.
  case shareTaken
  /// The time was up before the owner's turn.
  case late
  /// The owner no longer needs the result.
  case abandoned
  /// Nothing will be lent soon.
  case withdrawn
}

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
