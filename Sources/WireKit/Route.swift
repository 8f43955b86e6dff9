package import HTTP
package import Runtime

/// One operation of the API.
///
/// The router, the access check, the body limit, the preconditions and the OPTIONS response derive
/// from it.
package struct Route: Sendable {
  package let method: Method
  package let pattern: String
  package let access: Access
  /// The right that an administrator needs; nil if the route is not for administrators.
  package private(set) var right: AdministratorRight?
  /// Whether an administrator must have authenticated within the last minutes.
  package private(set) var needsStepUp = false
  /// The part of a user's data that the route reads; nil if reading it is no event.
  package private(set) var viewed: ViewedPart?
  package let body: BodyRule
  package let isVersioned: Bool
  /// Whether the response contains one-time values: tokens of a new session, or secrets.
  package let issuesSecrets: Bool
  /// Whether pages of allowed origins may read the response.
  package private(set) var isCrossOrigin: Bool
  package let summary: String
  package private(set) var handler: Handler

  /// Creates a route.
  ///
  /// - Parameters:
  ///   - method: the method; GET also answers HEAD.
  ///   - pattern: the pattern of the path, such as `/v1/users/{user}`.
  ///   - access: the callers that may use the route.
  ///   - body: the body that the route accepts.
  ///   - isVersioned: whether the handler of a write passes `Call.condition` to the domain.
  ///     Without it, no entity tag matches the resource that the route changes.
  ///   - issuesSecrets: whether the response contains tokens of a new session, or secrets.
  ///   - isCrossOrigin: whether pages of allowed origins may read the response. False for a page of
  ///     this server, with whose forms they could act for the user.
  ///   - summary: the effect of the route, in a few words.
  ///   - handler: the function that answers.
  package init(
    _ method: Method, _ pattern: String, access: Access, body: BodyRule = .none,
    isVersioned: Bool = false, issuesSecrets: Bool = false, isCrossOrigin: Bool = true,
    summary: String, _ handler: @escaping Handler
  ) {
    self.method = method
    self.pattern = pattern
    self.access = access
    self.right = access.isOfPrograms ? (method == .get ? .viewer : .admin) : nil
    self.body = body
    self.isVersioned = isVersioned
    self.issuesSecrets = issuesSecrets
    self.isCrossOrigin = isCrossOrigin
    self.summary = summary
    self.handler = handler
  }

  /// Returns the same route with what an administrator needs.
  ///
  /// Without it, `viewer` is enough to read, and `admin` to write. An administrator may use only routes of
  /// API clients and operators.
  /// - Parameters:
  ///   - right: the right; nil for the usual one.
  ///   - stepUp: whether the administrator must have authenticated within the last minutes.
  /// - Returns: the route.
  package func needing(_ right: AdministratorRight?, stepUp: Bool) -> Route {
    var route = self
    if access.isOfPrograms { route.right = right ?? self.right }
    route.needsStepUp = stepUp
    return route
  }

  /// Returns the same route, which reads a part of a user's data.
  ///
  /// An event records that an administrator has read it.
  package func viewing(_ part: ViewedPart) -> Route {
    var route = self
    route.viewed = part
    return route
  }

  /// Returns the route of a page, which no page of another origin reads, with other work.
  package func ofPage(_ handler: @escaping Handler) -> Route {
    var route = self
    (route.isCrossOrigin, route.handler) = (false, handler)
    return route
  }

  /// The name in logs and metrics.
  ///
  /// It is never the path, which contains ids.
  package var name: String { "\(method.rawValue) \(pattern)" }
}

/// A route of one of the service's wires.
package final class Endpoint: Sendable {
  package let route: Route
  let served: ServedWire
  /// The number of the route, counted over all wires in their order.
  package let number: Int
  package let name: String
  // Each request asks for these, and to compare the parts of a route copies them.
  let takesBody: Bool
  let isPost: Bool

  init(_ route: Route, of served: ServedWire, number: Int) {
    self.route = route
    self.served = served
    self.number = number
    name = route.name
    takesBody = route.body != .none
    isPost = route.method == .post
  }
}
