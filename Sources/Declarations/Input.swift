import EventLoop
package import HTTP
package import Runtime
package import WireKit

/// The input of a route: its query parameters, and a body that it decodes to values.
package struct Input<each Value: Sendable>: Sendable {
  package let rule: BodyRule
  /// The shape of the body.
  ///
  /// For a merge patch, this is the shape of the patch.
  package let shape: Shape?
  package private(set) var query: [QueryParameter] = []
  fileprivate let read: @EventLoop @Sendable (Call) throws(Failure) -> (repeat each Value)

  private init(
    _ rule: BodyRule, _ shape: Shape?,
    _ read: @escaping @EventLoop @Sendable (Call) throws(Failure) -> (repeat each Value)
  ) {
    self.rule = rule
    self.shape = shape
    self.read = read
  }

  /// Returns a body whose members the route decodes.
  package static func body(_ rule: BodyRule, _ fields: Fields<repeat each Value>) -> Input {
    Input(rule, fields.shape, fields.read)
  }

  /// Returns a body that the route decodes to the value of one of several bodies.
  package static func body<Body>(_ rule: BodyRule, _ variants: Variants<Body>) -> Input<Body> {
    Input<Body>(rule, variants.shape, variants.read)
  }

  /// Returns a body that the handler reads itself.
  package static func body(_ rule: BodyRule, _ shape: Shape? = nil) -> Input<> {
    .init(rule, shape) { _ in () }
  }

  package static func query(_ parameters: QueryParameter...) -> Input<> {
    none.with(parameters)
  }

  package static var none: Input<> { body(.none) }

  /// Returns the same input with these parameters of the query.
  package func query(_ parameters: QueryParameter...) -> Input { with(parameters) }

  private func with(_ parameters: [QueryParameter]) -> Input {
    var input = self
    input.query = parameters
    return input
  }

  /// The same input for a handler that reads the body itself.
  fileprivate var undecoded: Input<> { .body(rule, shape).with(query) }
}

extension Operation {
  /// Creates an operation that passes the decoded body to the handler.
  package init<each Value: Sendable>(
    _ method: Method,
    _ pattern: String,
    access: Access,
    takes input: Input<repeat each Value>,
    versions: Versions = .none,
    gives: [Answer],
    refuses: [Failure] = [],
    summary: String,
    _ handler:
      @escaping @EventLoop @Sendable (Call, repeat each Value) async throws(Failure) -> Response
  ) {
    self.init(
      method, pattern, access: access, takes: input.undecoded, versions: versions, gives: gives,
      refuses: refuses, summary: summary
    ) { (call) async throws(Failure) in
      let values = try input.read(call)
      return try await handler(call, repeat each values)
    }
  }
}

/// The outcome of an update.
package enum UpdateWord: String, CaseIterable, Sendable {
  case created
  case updated
  /// The update matched, and did not change the document.
  case unchanged
  case noMatch = "no_match"
  case noDocument = "no_document"
}
