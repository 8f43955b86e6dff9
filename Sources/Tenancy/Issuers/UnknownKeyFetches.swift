/// The fetches that tokens of unknown keys have caused, at one issuer.
///
/// Anyone can make such tokens. So a network causes one fetch in half a minute, and all networks
/// together one in two seconds. Forged tokens thus delay the new key of a rotation by two seconds at
/// most, except for users in the network that sends them.
struct UnknownKeyFetches {
  /// The shortest time between two fetches, in nanoseconds.
  static let interval: UInt64 = 2_000_000_000
  /// The shortest time between two fetches that one network causes.
  static let intervalOfNetwork: UInt64 = 30_000_000_000

  /// The networks, and when each has caused a fetch, of the last half minute.
  ///
  /// The interval bounds their number to 15.
  private var causes: [(network: [UInt8], time: UInt64)] = []

  /// Counts a fetch for a token of an unknown key, if one may begin now.
  ///
  /// - Parameters:
  ///   - network: the network of the client that sends the token.
  ///   - fetchedAt: when the keys were fetched last, by the monotonic clock.
  ///   - now: the time of that clock.
  /// - Returns: whether the fetch may begin.
  mutating func begin(for network: [UInt8], after fetchedAt: UInt64, at now: UInt64) -> Bool {
    causes.removeAll { now - $0.time >= Self.intervalOfNetwork }
    guard now - max(fetchedAt, causes.last?.time ?? 0) >= Self.interval,
      !causes.contains(where: { $0.network == network })
    else { return false }
    causes.append((network, now))
    return true
  }

  /// Gives back the fetch of a network, which has failed, or has proved its token right.
  mutating func giveBack(_ network: [UInt8]) { causes.removeAll { $0.network == network } }
}
