package import HTTP

/// One thing that can be asked, and everything that follows from it: the router, the access check,
/// the limit of the body, the preconditions, the answer to OPTIONS.
package struct Route: Sendable {
  package let method: Method
  package let pattern: String
  package let access: Access
  package let body: BodyRule
  package let isVersioned: Bool
  /// Whether its answer has tokens of a new session, or secrets, which are given out once.
  package let issuesSecrets: Bool
  package let summary: String
  package let handler: Handler

  /// - Parameters:
  ///   - method: GET answers HEAD too.
  ///   - pattern: of the path, `/v1/users/{user}`.
  ///   - access: who may call.
  ///   - body: what is read.
  ///   - isVersioned: whether the handler of a write gives the domain `Call.condition`. Without it no
  ///     entity tag is met by what the route changes.
  ///   - issuesSecrets: whether the answer has tokens of a new session, or secrets.
  ///   - summary: what it does, in a few words.
  ///   - handler: what answers.
  package init(
    _ method: Method,
    _ pattern: String,
    access: Access,
    body: BodyRule = .none,
    isVersioned: Bool = false,
    issuesSecrets: Bool = false,
    summary: String,
    _ handler: @escaping Handler
  ) {
    self.method = method
    self.pattern = pattern
    self.access = access
    self.body = body
    self.isVersioned = isVersioned
    self.issuesSecrets = issuesSecrets
    self.summary = summary
    self.handler = handler
  }

  /// What logs and metrics call it: never the path, which holds ids.
  package var name: String { "\(method.rawValue) \(pattern)" }
}

/// A route among all of a service.
package final class Endpoint: Sendable {
  package let route: Route
  let served: ServedWire
  /// Its number among the routes of all wires, in their order.
  package let number: Int
  package let name: String

  init(_ route: Route, of served: ServedWire, number: Int) {
    self.route = route
    self.served = served
    self.number = number
    name = route.name
  }
}
