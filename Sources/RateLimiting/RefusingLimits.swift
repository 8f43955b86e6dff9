import EventLoop
package import Outbound
import Postgres
package import Runtime

/// A rate limit that refuses attempts of a user now.
package struct RefusingLimit: Sendable {
  /// The name of the limit, as header fields have it.
  package let name: String
  package let purpose: AttemptPurpose
  /// An address of the network whose attempts it counts; nil for a limit of all networks.
  package let network: IPAddress?
  /// The device whose attempts it counts; nil for all devices.
  package let device: DeviceID?
  /// The time until the next attempt.
  package let wait: Duration
}

extension RateLimits {
  /// Returns the limits that refuse the sign-ins and mails of a user now.
  ///
  /// Attempts are counted under keyed hashes, which only known subjects lead to. So this finds the
  /// limits of the given addresses, networks and devices.
  /// - Parameters:
  ///   - keys: the keys of the addresses, also of no user.
  ///   - user: the user; nil if no user has the address.
  ///   - devices: the devices of the user.
  ///   - networks: an address of each network.
  ///   - context: the context of the app.
  /// - Returns: the limits.
  /// - Throws: `.databaseUnavailable`.
  @EventLoop package static func refusing(
    _ keys: [String], _ user: UserID?, on devices: [DeviceID], from networks: [IPAddress],
    _ context: RequestContext
  ) async throws(Failure) -> [RefusingLimit] {
    var found: [Candidate] = []
    let guesses =
      keys.map { (AttemptPurpose.login, $0) }
      + (user.map { [(.secondFactor, $0.text), (.recoveryCode, $0.text)] } ?? [])
    for (purpose, identifier) in guesses {
      found.append(Candidate(.anywhereHourly(purpose, identifier, context), purpose))
      found += devices.map {
        Candidate(.onDevice($0, purpose, identifier, context), purpose, device: $0)
      }
    }
    for network in networks {
      let there = RequestContext(context.dependencies, app: context.app)
      there.address = ClientAddress(network.description)
      for (purpose, identifier) in guesses {
        found += RateLimit.fromNetwork(purpose, identifier, there)
          .map { Candidate($0, purpose, network: network) }
      }
      for purpose in [AttemptPurpose.login, .secondFactor, .recoveryCode] {
        found += RateLimit.ofNetwork(purpose, there)
          .map { Candidate($0, purpose, network: network) }
      }
    }
    if let user {
      found += [AttemptPurpose.session, .firstStep]
        .map { Candidate(.ofUser($0, user, context), $0) }
    }
    found += keys.map { Candidate(.mailsDaily(to: $0, context), .mail) }
    let calls = found.map { PendingQuery(AttemptQueries.ahead, context.app.id, $0.limit.subject) }
    let aheads = try await context.read(AttemptQueries.ahead, calls)
    return zip(found, aheads).compactMap { candidate, rows in
      guard let ahead = rows.first, candidate.limit.isUsedUp(ahead) else { return nil }
      return RefusingLimit(
        name: candidate.limit.name, purpose: candidate.purpose, network: candidate.network,
        device: candidate.device, wait: candidate.limit.wait(ahead)
      )
    }
  }

  /// A limit that may be used up.
  private struct Candidate {
    let limit: RateLimit
    let purpose: AttemptPurpose
    let network: IPAddress?
    let device: DeviceID?

    init(
      _ limit: RateLimit, _ purpose: AttemptPurpose, network: IPAddress? = nil,
      device: DeviceID? = nil
    ) {
      (self.limit, self.purpose) = (limit, purpose)
      (self.network, self.device) = (network, device)
    }
  }
}

extension RateLimit {
  /// Returns the limit of the mails to an address in a day, which unknown devices request.
  @EventLoop package static func mailsDaily(
    to key: String, _ context: RequestContext
  ) -> RateLimit {
    anywhere(
      AttemptPurpose.mail.daily, key, burst: context.app.limitSettings.mailsPerAddressDaily,
      in: .seconds(86_400), context
    )
  }
}
