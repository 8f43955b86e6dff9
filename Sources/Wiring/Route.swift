package import HTTP

/// One thing that can be asked, and everything that follows from it: the router, the access check,
/// the limit of the body, the preconditions, the answer to OPTIONS.
package struct Route: Sendable {
  package let method: Method
  package let pattern: String
  package let access: Access
  package let body: BodyRule
  package let isVersioned: Bool
  /// Whether its answer has the tokens of a new session, which is never given out twice.
  package let issuesTokens: Bool
  package let summary: String
  package let handler: Handler

  /// - Parameters:
  ///   - method: GET answers HEAD too.
  ///   - pattern: of the path, `/v1/users/{user}`.
  ///   - access: who may call.
  ///   - body: what is read.
  ///   - isVersioned: whether the handler of a write gives the domain `Call.condition`. Without it no
  ///     entity tag is met by what the route changes.
  ///   - issuesTokens: whether the answer has the tokens of a new session.
  ///   - summary: what it does, in a few words.
  ///   - handler: what answers.
  package init(
    _ method: Method,
    _ pattern: String,
    access: Access,
    body: BodyRule = .none,
    isVersioned: Bool = false,
    issuesTokens: Bool = false,
    summary: String,
    _ handler: @escaping Handler
  ) {
    self.method = method
    self.pattern = pattern
    self.access = access
    self.body = body
    self.isVersioned = isVersioned
    self.issuesTokens = issuesTokens
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
