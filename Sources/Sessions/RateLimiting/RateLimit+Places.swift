package import Runtime
package import EventLoop
import Encoding

/// The limits of a purpose, a place and an identifier.
///
/// An identifier counts also if it belongs to no user.
extension RateLimit {
  /// The limit of a site, as a multiple of that of one network; a site is a /48 of IPv6.
  ///
  /// A client that rents one server has a site with 65,536 networks. So have all customers of a
  /// phone company in one town.
  static let networksOfSite = 4

  /// Returns the limit of one identifier on the caller's device; nil without a device.
  @EventLoop package static func onDevice(
    _ purpose: AttemptPurpose, _ identifier: String, _ context: RequestContext
  ) -> RateLimit? {
    context.device.map { device in
      RateLimit(
        purpose.onDevice, of: [identifier, device.id.text],
        burst: context.app.limitSettings.failuresPerIdentifier,
        in: context.app.limitSettings.failureWindow, context.keys.master
      )
    }
  }

  /// Returns the limit of one identifier in a network from which its owner has signed in.
  @EventLoop package static func fromKnownNetwork(
    _ purpose: AttemptPurpose, _ identifier: String, in window: Duration, _ context: RequestContext
  ) -> RateLimit {
    RateLimit(
      purpose.fromKnownNetwork, of: [identifier, String(hexadecimal: context.address.network)],
      burst: context.app.limitSettings.failuresPerIdentifier, in: window, isReported: false,
      context.keys.master
    )
  }

  /// Returns the limit of one identifier in sessions of its owner.
  @EventLoop package static func inSession(
    _ purpose: AttemptPurpose, _ identifier: String, _ context: RequestContext
  ) -> RateLimit {
    RateLimit(
      purpose.inSession, of: [identifier], burst: context.app.limitSettings.failuresPerIdentifier,
      in: context.app.limitSettings.failureWindow, context.keys.master
    )
  }

  /// Returns the limits of one identifier from the caller's network and its site.
  @EventLoop package static func fromNetwork(
    _ purpose: AttemptPurpose, _ identifier: String, _ context: RequestContext
  ) -> [RateLimit] {
    let settings = context.app.limitSettings
    return ofPlaces(
      (purpose.rawValue, purpose.fromSite), of: [identifier], burst: settings.failuresPerIdentifier,
      in: settings.failureWindow, context
    )
  }

  /// Returns the reserves of one identifier for the caller's network and its site.
  ///
  /// They hold one attempt a window, for when other networks have used up the shared limit.
  @EventLoop package static func slowlyFromNetwork(
    _ purpose: AttemptPurpose, _ identifier: String, _ context: RequestContext
  ) -> [RateLimit] {
    ofPlaces(
      (purpose.slowly, purpose.slowlyFromSite), of: [identifier], burst: 1,
      in: context.app.limitSettings.failureWindow, isReported: false, context
    )
  }

  /// Returns the limits of the caller's network and its site, over all identifiers.
  @EventLoop package static func ofNetwork(
    _ purpose: AttemptPurpose, _ context: RequestContext
  ) -> [RateLimit] {
    let settings = context.app.limitSettings
    let (burst, window) =
      switch purpose {
      case .anonymous: (settings.anonymousPerAddress, Duration.seconds(3_600))
      case .authorization: (settings.authorizationsPerAddress, .seconds(3_600))
      // A client asks before each sign-in.
      case .lookup: (4 * settings.failuresPerAddress, settings.failureWindow)
      case .resetCode: (settings.failuresPerIdentifier, settings.failureWindow)
      default: (settings.failuresPerAddress, settings.failureWindow)
      }
    return ofPlaces((purpose.ofNetwork, purpose.ofSite), of: [], burst: burst, in: window, context)
  }

  /// Returns the limit of what a user does in an hour, from all networks.
  ///
  /// It bounds the rows that one user adds by right credentials.
  @EventLoop package static func ofUser(
    _ purpose: AttemptPurpose, _ user: UserID, _ context: RequestContext
  ) -> RateLimit {
    let settings = context.app.limitSettings
    let burst =
      switch purpose {
      case .change: settings.changesPerUser
      case .dataChange: settings.recordedChangesPerUser
      default: settings.signInsPerUser
      }
    var limit = anywhere(purpose.anywhere, user.text, burst: burst, in: .seconds(3_600), context)
    limit.refusal = .tooManyRequests
    return limit
  }

  /// Returns the limit of a user's first steps that wait for a second factor, in an hour.
  ///
  /// A familiar device has one of its own. So a stranger who knows the password does not slow the
  /// user down there.
  @EventLoop package static func ofFirstSteps(
    of user: UserID, onFamiliarDevice isFamiliar: Bool, _ context: RequestContext
  ) -> RateLimit {
    let whole = ofUser(.firstStep, user, context)
    guard isFamiliar, let device = context.device else { return whole }
    var own = RateLimit(
      AttemptPurpose.firstStep.onDevice, of: [user.text, device.id.text], burst: whole.burst,
      in: whole.window, context.keys.master
    )
    own.refusal = whole.refusal
    return own
  }

  /// Returns the limit of one identifier from all networks together, in an hour.
  @EventLoop static func anywhereHourly(
    _ purpose: AttemptPurpose, _ identifier: String, _ context: RequestContext
  ) -> RateLimit {
    anywhere(
      purpose.anywhere, identifier, burst: context.app.limitSettings.failuresPerIdentifierHourly,
      in: .seconds(3_600), context
    )
  }

  /// Returns a limit of one identifier from all networks together.
  @EventLoop package static func anywhere(
    _ name: String, _ identifier: String, burst: Int, in window: Duration, _ context: RequestContext
  ) -> RateLimit {
    RateLimit(
      name, of: [identifier], burst: burst, in: window, isReported: false, context.keys.master
    )
  }

  @EventLoop private static func ofPlaces(
    _ names: (network: String, site: String), of identifier: [String], burst: Int,
    in window: Duration, isReported: Bool = true, _ context: RequestContext
  ) -> [RateLimit] {
    let master = context.keys.master
    let network = RateLimit(
      names.network, of: identifier + [String(hexadecimal: context.address.network)], burst: burst,
      in: window, isReported: isReported, master
    )
    guard let place = context.address.site else { return [network] }
    let site = RateLimit(
      names.site, of: identifier + [String(hexadecimal: place)], burst: burst * networksOfSite,
      in: window, isReported: false, master
    )
    return [network, site]
  }
}
