package import EventLoop
import JSON
package import Outbound
package import Runtime
package import WebTokens

/// The keys that an issuer publishes at a URL, as they were last fetched.
@EventLoop package final class FetchedKeys {
  package var url: String { published.url }
  private let published: FetchedDocument<IssuerKeys>
  private var unknown = UnknownKeyFetches()

  /// - Parameters:
  ///   - url: the URL of a JWK Set.
  ///   - issuer: the operator's name for the issuer.
  ///   - app: the app that accepts the issuer.
  ///   - source: what fetches the keys.
  package init(at url: String, of issuer: String, in app: AppID, _ source: HTTPSource) {
    published = FetchedDocument(at: url, of: issuer, in: app, source) { json in
      json["keys"]?.array == nil ? nil : IssuerKeys(set: json)
    }
  }

  /// Returns the keys.
  ///
  /// - Throws: as `FetchedDocument.value`.
  package func keys() async throws(Failure) -> IssuerKeys { try await published.value() }

  /// Returns whether the issuer has a newer key, which has signed a token that none of the known
  /// keys has signed.
  ///
  /// It fetches the keys again, unless it is too early for that. A token that arrives during a fetch
  /// waits for it.
  ///
  /// - Parameters:
  ///   - token: the token.
  ///   - network: the network of the client that sends the token.
  /// - Returns: whether newer keys verify it.
  /// - Throws: as `FetchedDocument.value`.
  package func haveNewer(
    for token: SignedToken, from network: [UInt8]
  ) async throws(Failure) -> Bool {
    let now = EventLoop.now()
    guard published.isUnderWay || unknown.begin(for: network, after: published.fetchedAt, at: now)
    else { return false }
    do throws(Failure) {
      guard try await published.value(atLeast: now).verify(token) else { return false }
    } catch {
      // The next token meets the outage too, and is not refused as forged.
      unknown.giveBack(network)
      throw error
    }
    unknown.giveBack(network)
    return true
  }
}

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
