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
  package let store: Store
  private let tokens: AccessTokens
  let bodySource: any BodySource

  /// Where the request leads; nil when there is no such route.
  package internal(set) var endpoint: Endpoint?
  package internal(set) var captures = Captures()
  package internal(set) var body = Body.none
  var preconditions = Preconditions()
  /// Whether the handler has asked for `condition`.
  var conditionIsTaken = false

  /// Nil on the server's own routes, and on the operator's when the app named is none.
  package internal(set) var app: App?
  /// The user who asks, by an access token.
  package internal(set) var user: Caller?
  /// The program that asks.
  package internal(set) var client: Client?
  /// What the client shows of its device.
  var device: DeviceProof? { didSet { knownContext?.device = device } }
  // Each is made when it is first asked for, and once.
  private var knownContext: Context?
  private var knownCaller: Caller?
  private var knownAdministrator: Administrator?
  /// Whether the client holds its device in a cookie, or wants to.
  package internal(set) var usesCookie = false
  /// Why there is no better answer; nil when the handler gave it, or nothing leads there.
  package internal(set) var refusal: Refusal?

  /// Notes for the log why a request was refused that its handler answers itself.
  package func note(_ failure: Failure) { refusal = .failure(failure) }

  /// Why the request was refused, where the client may hear less; for the operator only.
  package var rule: String? { refusal?.rule }

  init(_ request: Request, _ bodySource: any BodySource, store: Store, tokens: AccessTokens) {
    self.request = request
    self.bodySource = bodySource
    self.store = store
    self.tokens = tokens
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

  /// Whose data the call is about: the user's who calls, or on a program's route that of `{user}`.
  package var caller: Caller {
    get throws(Failure) {
      if let known = user ?? knownCaller { return known }
      guard let client else { throw .unauthenticated(.missing) }
      guard let user = captures["user"].flatMap({ UserID($0) }) else { throw .notFound }
      let app = try context.app.id
      let made = Caller(.client(client.id), scopes: client.scopes, on: user, of: app)
      knownCaller = made
      return made
    }
  }

  /// What the domain is to know of the call, on a route that is not the server's own.
  package var context: Context {
    get throws(Failure) {
      guard let app else { throw .unknownApp }
      if let knownContext, knownContext.app === app { return knownContext }
      let made = context(of: app)
      knownContext = made
      return made
    }
  }

  func context(of app: App) -> Context {
    Context(app: app, store: store, tokens: tokens, origin: request.origin, device: device)
  }

  /// The user who calls, on an open route that it may help to say so; nil without a token.
  package func callerIfAny(scope: String, proof: Access.Proof) async throws(Failure) -> Caller? {
    guard request.has(.authorization) else { return nil }
    return try await user(scope: scope, proof: proof, in: context.app)
  }

  /// The user whose access token came with the request.
  func user(scope: String, proof: Access.Proof, in app: App) async throws(Failure) -> Caller {
    let user = try await tokens.caller(of: request.bearerToken, app: app.id)
    guard user.scopes.contains(scope) else { throw .forbidden(scope: scope) }
    try await require(proof, of: user)
    return user
  }

  /// Looks at what a route asks for beside the token.
  func require(_ proof: Access.Proof, of user: Caller) async throws(Failure) {
    guard proof == .fresh else { return }
    try await Sessions.requireFreshProof(of: user, context)
  }

  /// Who administers, on a route whose access is a program's.
  package var administrator: Administrator {
    get throws(Failure) {
      if let knownAdministrator { return knownAdministrator }
      guard let client else { throw .unknownClient }
      let made = Administrator(
        .client(client.id),
        scopes: client.scopes,
        store: store,
        origin: request.origin
      )
      knownAdministrator = made
      return made
    }
  }

  /// The body of a route that reads JSON, or a merge patch alone.
  package var json: JSON {
    switch body {
    case .json(let json, _), .mergePatch(let json, _): json
    case .none, .jsonPatch, .form, .multipart, .bytes: .null
    }
  }
}
