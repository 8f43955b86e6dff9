package import EventLoop

/// Calls other services: gets small documents, such as a JWKS, and posts forms.
///
/// An app's owner writes their URLs, so by default only internet addresses are allowed. Each
/// address is checked when its socket is created, after any resolution of names. Nothing is sent to
/// an address that is not public.
///
/// Each kind of request has a source of its own, so that it never waits for another kind. Within a
/// source, no app and no receiver takes all places: the owners of calls take turns.
@EventLoop package final class HTTPSource {
  private let settings: HTTPSourceSettings
  private let queue: FairQueue
  private lazy var group = TransferGroup(keeping: settings.keptConnections)

  /// Creates a source.
  ///
  /// - Parameter settings: the settings of all requests.
  package init(_ settings: HTTPSourceSettings = HTTPSourceSettings()) {
    self.settings = settings
    queue = FairQueue(settings.limits)
    for _ in 0..<settings.most { queue.add(Place()) }
  }

  /// A place for one request.
  private final class Place {}

  /// Sends a call.
  ///
  /// It follows no redirects, uses no cookies or proxies, and does not decompress the body. A
  /// cancelled task still waits for the end.
  ///
  /// - Parameters:
  ///   - call: the request.
  ///   - owner: the app and the receiver.
  /// - Returns: the answer, of any status.
  /// - Throws: `FetchError`; `.overloaded` if no place was free in time.
  package func send(
    _ call: HTTPCall, for owner: CallOwner
  ) async throws(FetchError) -> HTTPAnswer {
    if let fault = call.fault { throw fault }
    let latest = EventLoop.now() &+ settings.reach.timeout.nanoseconds
    let loan: Loan
    do throws(FairQueueError) {
      loan = try await queue.take(for: owner, until: latest)
    } catch {
      throw .overloaded
    }
    defer { queue.giveBack(loan) }
    return try await Fetch.run(call, settings, in: group).get()
  }

  /// Gets a public document, such as a JWKS.
  ///
  /// - Throws: as `send`, also for a status other than 200 to 299.
  package func fetch(_ url: String, for owner: CallOwner) async throws(FetchError) -> HTTPAnswer {
    var call = HTTPCall(url)
    call.accept = "application/json, application/jwk-set+json"
    return try await succeed(call, for: owner)
  }

  /// Posts a form; the body of the answer is not used.
  ///
  /// - Throws: as `send`, also for a status other than 200 to 299.
  package func post(_ form: String, to url: String, for owner: CallOwner) async throws(FetchError) {
    var call = HTTPCall(url, form: form)
    call.readsBody = false
    _ = try await succeed(call, for: owner)
  }

  private func succeed(
    _ call: HTTPCall, for owner: CallOwner
  ) async throws(FetchError) -> HTTPAnswer {
    let answer = try await send(call, for: owner)
    switch answer.status {
    case 200...299: return answer
    case 300...399: throw .redirected(to: answer.location)
    default: throw .status(answer.status)
    }
  }
}

/// The app that causes a call, and the receiver of the call.
@EventLoop package final class CallOwner: JobOwner {
  package let group: Int
  package let member: Int?
  package let isGone = false

  /// - Parameters:
  ///   - app: the name or id of the app.
  ///   - receiver: the name of the receiver, unique in the app.
  package init(app: String, receiver: String) {
    group = app.hashValue
    member = "\(app) \(receiver)".hashValue
  }
}

/// The settings of an `HTTPSource`.
package struct HTTPSourceSettings: Sendable {
  /// 2 s to connect, 5 s in total: a login waits for a JWKS that is not cached.
  package var reach = TransferTimeouts(connectTimeout: .seconds(2), timeout: .seconds(5))
  /// The largest body in bytes: 256 KiB hold a JWKS of 50 RSA keys with certificates.
  package var limit = 256 * 1_024
  /// Whether to allow `http://`, for tests on one machine.
  package var allowsPlainHTTP = false
  /// Whether to allow non-public addresses, for tests and identity providers in the same network.
  package var allowsPrivateAddresses = false
  /// The networks that are allowed beside public addresses.
  package var allowedNetworks: [IPNetwork] = []
  /// The requests at once, over all apps.
  ///
  /// Each takes a descriptor, and memory up to `limit`.
  package var most = 64
  /// The requests at once of one app, and to one receiver.
  package var (mostOfApp, mostOfReceiver) = (56, 4)
  /// The requests that wait for a place, over all apps.
  package var waiting = 256
  /// The connections that are kept for later requests.
  package var keptConnections = 8

  package init() {}

  /// Returns whether a socket to an address may be opened.
  package func allows(_ address: IPAddress) -> Bool {
    allowsPrivateAddresses || address.isPublic
      || address.isRoutable && allowedNetworks.contains { $0.contains(address) }
  }

  fileprivate var limits: FairLimits {
    FairLimits(
      things: most, room: waiting, group: mostOfApp, groupWithoutMembers: mostOfApp,
      member: mostOfReceiver
    )
  }
}
