package import Runtime
package import EventLoop
package import HTTP

/// One protocol for clients: its routes, its selection of the app, and its error format.
///
/// A wire declares everything specific to it here. The service and the configuration of nginx
/// derive from it.
package protocol Wire: Sendable {
  var routes: [Route] { get }
  /// The path prefixes that the wire owns, such as `/v1`. It also answers unknown paths below them.
  var prefixes: [String] { get }
  /// The header fields that the wire reads in addition to those of every request; see `WebServer`.
  var fields: [FieldName] { get }
  /// The field with the device secret, or with a request for a cookie that holds it.
  ///
  /// Nil if the wire does not authenticate devices.
  var deviceField: FieldName? { get }
  /// Fields that pages of other origins may send and read.
  var crossOrigin: CrossOriginFields { get }
  /// The limit that `x-ratelimit-…` report of a request that counted against no other.
  ///
  /// Nil if clients of the wire do not expect these fields in each response.
  var requestLimit: RateLimitStatus? { get }
  /// Returns whether the wire answers a path with pages for people.
  ///
  /// One wire has such paths. Unknown paths of every wire have a page of it for browsers.
  func showsPages(at path: Substring) -> Bool
  /// Returns the app that a request is for.
  ///
  /// Also called if no route was found; then only the request of `call` is set.
  /// - Throws: an error if the request is invalid without an app.
  @EventLoop func app(of call: Call) throws(Failure) -> AppReference
  /// Returns whether the app of a call offers this wire; otherwise the service refuses the call.
  @EventLoop func isOffered(by app: App, to call: Call) -> Bool
  /// Returns the wire's response for an error.
  ///
  /// - Parameters:
  ///   - failure: the error.
  ///   - call: the state so far. The request is always set, route and app only if they were
  ///     found.
  /// - Returns: the response that the wire's clients expect for an error, possibly a redirect. The
  ///   service adds `Allow`, `Accept-Patch` and `Retry-After`.
  @EventLoop func response(to failure: Failure, of call: Call) -> Response
  /// Returns the wire's own page for an unknown path below its prefixes.
  ///
  /// - Parameter call: the request, from a browser.
  /// - Returns: nil for the page that unknown paths of all wires have.
  @EventLoop func pageOfUnknownPath(_ call: Call) async -> Response?
  /// Returns the page that the web server sends for one of its own errors.
  ///
  /// - Parameters:
  ///   - failure: the error.
  ///   - prefix: the prefix of the path; empty for paths that belong to no wire.
  /// - Returns: the page.
  func page(for failure: Failure, at prefix: String) -> WebServerPage
}

extension Wire {
  package var prefixes: [String] { [] }
  package var fields: [FieldName] { [] }
  package var deviceField: FieldName? { nil }
  package var crossOrigin: CrossOriginFields { CrossOriginFields(sent: [], exposed: []) }
  package var requestLimit: RateLimitStatus? { nil }
  package func showsPages(at path: Substring) -> Bool { false }
  @EventLoop package func pageOfUnknownPath(_ call: Call) async -> Response? { nil }
  @EventLoop package func isOffered(by app: App, to call: Call) -> Bool { true }
}

extension Request {
  /// Whether the client is a browser that opens a page.
  package var wantsPage: Bool {
    field(.accept)?.lowercased().utf8.firstRange(of: "text/html".utf8) != nil
  }
}

/// The app selector of a request.
package enum AppReference: Sendable {
  case named(String)
  /// The app of the request's host name, or else the default app.
  case host
  /// The app that a token names. The keys of that app must verify the token.
  case id(AppID)
}

/// CORS header fields in addition to those that the Fetch Standard always allows.
package struct CrossOriginFields: Sendable {
  package let sent: [FieldName]
  package let exposed: [FieldName]

  package init(sent: [FieldName], exposed: [FieldName]) {
    self.sent = sent
    self.exposed = exposed
  }

  /// The fields that the SDKs of Auth0 send and read.
  package static let auth0 = CrossOriginFields(
    sent: [
      .authorization, .contentType, FieldName("Auth0-Client"), FieldName("DPoP"),
      FieldName("X-Request-Language"), FieldName("X-Correlation-ID"), .requestID,
    ],
    exposed: [
      .retryAfter, .authenticate, .location, .rateLimit, .rateLimitPolicy, .rateLimitQuota,
      .rateLimitRemaining, .rateLimitReset, .requestID,
    ]
  )
}

/// A wire of a service, with values derived from its declarations.
package final class ServedWire: Sendable {
  let wire: any Wire
  let crossOrigin: CrossOrigin
  /// Whether responses also have the fields `x-ratelimit-…`, which pages may read.
  private let hasLimitCounters: Bool
  let deviceField: FieldName?
  private let prefixes: [[UInt8]]

  init(_ wire: any Wire) {
    self.wire = wire
    crossOrigin = CrossOrigin(wire.crossOrigin)
    hasLimitCounters = wire.crossOrigin.exposed.contains(.rateLimitQuota)
    deviceField = wire.deviceField
    prefixes = wire.prefixes.map { Array($0.utf8) }
  }

  /// Adds the fields `x-ratelimit-…` if clients of the wire read them.
  @EventLoop func addCounters(to response: inout Response, of call: Call) {
    guard hasLimitCounters else { return }
    let limits = call.context.notedLimits
    response.addCounters(of: limits, or: wire.requestLimit, after: call.failure)
  }

  /// Returns the length of the wire's longest prefix of a path; nil if the wire does not own it.
  func ownedLength(of path: Substring) -> Int? {
    var path = path
    return path.withUTF8 { path in
      prefixes.filter { Self.isOwned(path, below: $0) }.map(\.count).max()
    }
  }

  /// Returns whether a path is a prefix, or is below it.
  package static func isOwned(_ path: Substring, below prefix: String) -> Bool {
    var path = path
    return path.withUTF8 { isOwned($0, below: Array(prefix.utf8)) }
  }

  private static func isOwned(_ path: UnsafeBufferPointer<UInt8>, below prefix: [UInt8]) -> Bool {
    guard path.count >= prefix.count else { return false }
    for index in prefix.indices where path[index] != prefix[index] { return false }
    return path.count == prefix.count || path[prefix.count] == UInt8(ascii: "/")
  }
}
