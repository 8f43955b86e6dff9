package import Dossier
package import EventLoop
package import HTTP
package import JSON

extension Route {
  /// What answers a call; the failures it throws are told in the words of the wire.
  package typealias Handler = @EventLoop (Call) async throws(Failure) -> Response
}

/// One request and all that is known of it, from the router to the log.
///
/// One object, passed by reference: what a handler does not ask for is not made, and a suspended
/// request costs its frames and this.
@EventLoop package final class Call {
  package let request: Request
  let bodySource: any BodySource

  /// Where the request leads; nil when there is no such route.
  package internal(set) var endpoint: Endpoint?
  package internal(set) var captures = Captures()
  package internal(set) var body = Body.none
  var preconditions = Preconditions()
  /// Whether the handler has asked for `condition`.
  var conditionIsTaken = false

  /// The context of the request for the domain.
  package let context: RequestContext
  /// Nil on the server's own routes, and on the operator's if the request names no app that exists.
  package internal(set) var app: App? {
    get { context.knownApp }
    set { context.knownApp = newValue }
  }
  /// The API client that makes the request; nil for other principals.
  package internal(set) var client: Client?
  /// Whether an access token has identified the user.
  var isByToken = false
  /// Whether the client holds its device in a cookie, or wants to.
  package internal(set) var usesCookie = false
  /// Why there is no better answer; nil when the handler gave it, or nothing leads there.
  package internal(set) var refusal: Refusal?

  /// Notes for the log why a request was refused that its handler answers itself.
  package func note(_ failure: Failure) { refusal = .failure(failure) }

  /// Why the request was refused, where the client may hear less; for the operator only.
  package var rule: String? { refusal?.rule }

  init(_ request: Request, _ bodySource: any BodySource, _ dependencies: Dependencies) {
    self.request = request
    self.bodySource = bodySource
    context = RequestContext(dependencies)
  }

  package var route: Route? { endpoint?.route }

  /// Why there is no better answer, where that is the server's fault; for the operator only.
  package var error: String? { refusal?.reason }

  /// What the path captures, as it is; empty for a name that the route does not have.
  package func text(_ name: String) -> String { captures[name] ?? "" }

  /// An id that the path names; what is no id names nothing.
  package func captured<Of>(_ name: String) throws(Failure) -> ID<Of> {
    guard let id = captures[name].flatMap({ ID<Of>($0) }) else { throw .notFound }
    return id
  }

  /// The app that an operator's request names.
  package var namedApp: App {
    get throws(Failure) {
      guard let app else { throw .unknownApp }
      return app
    }
  }

  /// The user that the request is about: the user who makes it, or the `{user}` of an API client's route.
  package var user: UserID {
    get throws(Failure) {
      if let user = context.principal.user { return user }
      guard client != nil else { throw .unauthenticated(.missing) }
      return try captured("user")
    }
  }

  /// Identifies the user of an open route by an access token; does nothing without one.
  package func identifyUserIfAny(scope: String, proof: Access.Proof) async throws(Failure) {
    guard request.has(.authorization) else { return }
    try await identifyUser(scope: scope, proof: proof)
  }

  /// Identifies the user by the access token of the request.
  func identifyUser(scope: String, proof: Access.Proof) async throws(Failure) {
    let principal = try await context.tokens.principal(of: request.bearerToken, app: context.app.id)
    try await identify(principal, scope: scope, proof: proof)
  }

  /// Makes a user the principal of the request, who has the scope and the proof that the route needs.
  func identify(
    _ principal: Principal,
    scope: String? = nil,
    proof: Access.Proof
  ) async throws(Failure) {
    if let scope, !principal.scopes.contains(scope) { throw .forbidden(scope: scope) }
    context.principal = principal
    isByToken = true
    guard proof == .fresh, let user = principal.user else { return }
    try await Sessions.requireFreshProof(of: user, context)
  }

  /// Makes an API client the principal of the request.
  func identify(_ client: Client) {
    context.principal = Principal(client.id, in: context.app.id, scopes: client.scopes)
  }

  /// The body of a route that reads JSON, or a merge patch alone.
  package var json: JSON {
    switch body {
    case .json(let json, _), .mergePatch(let json, _): json
    case .none, .jsonPatch, .form, .multipart, .bytes: .null
    }
  }
}
