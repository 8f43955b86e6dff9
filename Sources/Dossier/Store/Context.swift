package import EventLoop
package import Postgres

/// What a call brings besides its arguments: which app is asked, from where, on which device.
///
/// One object for each call, passed by reference.
@EventLoop package final class Context {
  package let app: App
  package let store: Store
  package let tokens: AccessTokens
  package nonisolated let origin: Origin
  /// Nil when the client has none yet.
  package var device: DeviceProof?
  /// The record of that device; nil until it is read.
  var deviceRecord: DeviceRecord??
  /// Where clients prove no devices.
  package var bareDevice: BareDevice?

  package init(
    app: App,
    store: Store,
    tokens: AccessTokens,
    origin: Origin,
    device: DeviceProof? = nil
  ) {
    self.app = app
    self.store = store
    self.tokens = tokens
    self.origin = origin
    self.device = device
  }

  /// For work whose statement does not look at the caller's session itself.
  ///
  /// - Throws: `.unauthenticated`, `.unavailable`.
  package func requireSession(of caller: Caller) async throws(Failure) {
    guard try await isLive(caller) else { throw caller.gone }
  }

  /// Returns whether the caller's session is live.
  ///
  /// - Throws: `.unavailable`.
  func isLive(_ caller: Caller) async throws(Failure) -> Bool {
    try await !store.read(CallerQueries.live, caller.user, caller.authority).isEmpty
  }
}

package enum CallerQueries {
  /// One row when the session is live.
  static let live = Statement<String, UserID, Authority>(
    "caller.live",
    "select user_id from caller($1, $2)"
  )

  package static let all: [any PreparedStatement] = [live]
}
