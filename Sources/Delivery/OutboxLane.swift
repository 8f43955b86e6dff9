import EventLoop
import Outbound
import Runtime

/// The rows of one kind that a worker delivers, which wait for no row of another kind.
///
/// Apps share the places of a lane, and so do the receivers of an app. The next row is of the app with
/// the fewest rows under way, and of its receiver with the fewest. An app or a receiver that has all
/// of its places, or a receiver that fails, is left out of the pages that are read. So its rows wait
/// in the database, and hide no other row.
@EventLoop final class OutboxLane {
  /// Whether its rows have receivers: they are not mails for the relay.
  let hasReceivers: Bool
  private let limits: Limits
  /// The rows that may be due, by app.
  private var waiting: [AppID: WaitingRows] = [:]
  private(set) var count = 0
  private var underWay: [AppID: [String?: Int]] = [:]
  private(set) var taken = 0
  private var breakers: [Receiver: CircuitBreaker] = [:]
  private var turns = 0

  /// The most rows under way at once.
  struct Limits {
    let ofAll: Int
    let ofApp: Int
    let ofReceiver: Int
  }

  /// The waiting rows of an app, oldest first.
  private struct WaitingRows {
    var rows: [QueuedRow] = []
    /// The number of the app's last turn.
    var turn: Int
  }

  private struct Receiver: Hashable {
    let app: AppID
    let name: String
  }

  /// The rows that are remembered; others are found by a page.
  private static let (memory, memoryOfApp) = (2_000, 100)
  /// The receivers whose failures are remembered.
  private static let knownReceivers = 1_000
  /// When a receiver that fails is left alone, and for how long.
  private static let breaker = CircuitBreaker(after: 3, pauses: .seconds(5)...(.seconds(300)))

  init(hasReceivers: Bool, _ limits: Limits) {
    (self.hasReceivers, self.limits) = (hasReceivers, limits)
  }

  var hasRoom: Bool { taken < limits.ofAll }

  // MARK: Waiting rows

  /// Remembers a row that may be due.
  ///
  /// A full memory forgets a row of the app with the most, and of its receiver with the most.
  func add(_ row: QueuedRow) {
    guard !isBlocked(row) else { return }
    waiting[row.app, default: WaitingRows(turn: turns)].rows.append(row)
    count += 1
    if waiting[row.app]?.rows.count ?? 0 > Self.memoryOfApp { forgetOne(of: row.app) }
    guard count > Self.memory else { return }
    let most = waiting.max { $0.value.rows.count < $1.value.rows.count }
    if let most { forgetOne(of: most.key) }
  }

  private func forgetOne(of app: AppID) {
    guard let rows = waiting[app]?.rows else { return }
    var counts: [String?: Int] = [:]
    for row in rows { counts[row.receiver, default: 0] += 1 }
    guard let most = counts.max(by: { $0.value < $1.value }),
      let index = rows.lastIndex(where: { $0.receiver == most.key })
    else { return }
    remove(index, of: app)
  }

  @discardableResult
  private func remove(_ index: Int, of app: AppID) -> QueuedRow? {
    guard let row = waiting[app]?.rows.remove(at: index) else { return nil }
    if waiting[app]?.rows.isEmpty == true { waiting[app] = nil }
    count -= 1
    return row
  }

  /// Returns a row that may be delivered now, and takes a place for it; nil if no row may be.
  func take() -> QueuedRow? {
    guard hasRoom else { return nil }
    var best: (app: AppID, index: Int, order: (Int, Int))?
    for (app, line) in waiting where taken(by: app) < limits.ofApp {
      let order = (taken(by: app), line.turn)
      guard best.map({ order < $0.order }) ?? true, let index = firstRow(of: app, line.rows) else {
        continue
      }
      best = (app, index, order)
    }
    guard let best else { return nil }
    turns += 1
    waiting[best.app]?.turn = turns
    guard let row = remove(best.index, of: best.app) else { return nil }
    underWay[row.app, default: [:]][row.receiver, default: 0] += 1
    taken += 1
    return row
  }

  /// Returns the first row of the receiver with the fewest rows under way, of those with a place.
  private func firstRow(of app: AppID, _ rows: [QueuedRow]) -> Int? {
    var best: (index: Int, count: Int)?
    for (index, row) in rows.enumerated() where !isBlocked(row) {
      let count = underWay[app]?[row.receiver] ?? 0
      if best.map({ count < $0.count }) ?? true { best = (index, count) }
      if best?.count == 0 { break }
    }
    return best?.index
  }

  // MARK: Places

  private func taken(by app: AppID) -> Int { underWay[app]?.values.reduce(0, +) ?? 0 }

  private func isBlocked(_ row: QueuedRow) -> Bool {
    guard let name = row.receiver else { return false }
    return isBlocked(Receiver(app: row.app, name: name))
  }

  /// Whether a receiver has all of its places, or is left alone.
  ///
  /// After the pause of one that fails, a single row tries it.
  private func isBlocked(_ receiver: Receiver) -> Bool {
    let count = underWay[receiver.app]?[receiver.name] ?? 0
    guard let breaker = breakers[receiver], !breaker.isClosed else {
      return count >= limits.ofReceiver
    }
    return count > 0 || breaker.rest() > .zero
  }

  /// The apps and receivers that a page leaves out.
  ///
  /// These have no free place, or have rows that are remembered already. Names of receivers are ids,
  /// so those of one app are not those of another.
  var leftOut: (apps: [AppID], receivers: Set<String>) {
    let apps = underWay.keys.filter { taken(by: $0) >= limits.ofApp }
    guard hasReceivers else { return (apps + waiting.keys, []) }
    var receivers = Set(breakers.keys.filter(isBlocked).map(\.name))
    for (app, counts) in underWay {
      for case let name? in counts.keys where isBlocked(Receiver(app: app, name: name)) {
        receivers.insert(name)
      }
    }
    for line in waiting.values { receivers.formUnion(line.rows.compactMap(\.receiver)) }
    return (apps, receivers)
  }

  /// Frees the place of a row.
  func free(_ row: QueuedRow) {
    guard let count = underWay[row.app]?[row.receiver] else { return }
    underWay[row.app]?[row.receiver] = count > 1 ? count - 1 : nil
    if underWay[row.app]?.isEmpty == true { underWay[row.app] = nil }
    taken -= 1
  }

  // MARK: Receivers

  /// Records that a receiver has accepted or refused a row.
  func succeed(_ row: QueuedRow) {
    guard let name = row.receiver else { return }
    breakers[Receiver(app: row.app, name: name)] = nil
  }

  /// Records that a receiver did not answer, or reported an error of its own.
  func fail(_ row: QueuedRow) {
    guard let name = row.receiver else { return }
    let receiver = Receiver(app: row.app, name: name)
    // Forgets the receivers that have been left alone for the shortest time.
    if breakers[receiver] == nil, breakers.count >= Self.knownReceivers,
      let other = breakers.min(by: { $0.value.rest() < $1.value.rest() })
    {
      breakers[other.key] = nil
    }
    breakers[receiver, default: Self.breaker].fail()
    guard isBlocked(receiver), let rows = waiting[row.app]?.rows else { return }
    let others = rows.filter { $0.receiver != name }
    count -= rows.count - others.count
    waiting[row.app]?.rows = others
    if others.isEmpty { waiting[row.app] = nil }
  }
}
