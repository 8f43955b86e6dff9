import Accounts
import Encoding
package import EventLoop
package import HTTP
package import JSON
package import Runtime
import Sessions
package import Tenancy

extension Route {
  /// The function that answers a call.
  ///
  /// The wire renders the failures that it throws.
  package typealias Handler = @EventLoop (Call) async throws(Failure) -> Response
}

/// One request and its state, from the router to the log.
///
/// It is one object, passed by reference. Values are computed only on use. So a suspended request
/// costs only its frames and this object.
@EventLoop package final class Call {
  package let request: Request
  let bodySource: any BodySource

  /// The endpoint that the router found; nil if no route matches.
  package internal(set) var endpoint: Endpoint?
  package internal(set) var captures = Captures()
  package internal(set) var body = Body.none
  var preconditions = Preconditions()
  /// Whether the handler has read `condition`.
  var conditionIsTaken = false

  /// The context of the request for the domain.
  package let context: RequestContext
  /// The app of the request.
  ///
  /// Nil on the server's own routes. Nil on the operator's routes if the request names no existing
  /// app.
  package internal(set) var app: App? {
    get { context.knownApp }
    set { context.knownApp = newValue }
  }
  /// The API client that makes the request; nil for other principals.
  package internal(set) var client: Client?
  /// The caller in this process, which needs no credential; nil for a request from the network.
  ///
  /// Only functions of `Service` set it, so nothing in a request can.
  let localCaller: LocalCaller?
  /// Whether an access token has identified the user.
  var isByToken = false
  /// Whether the client holds its device secret in a cookie, or asks for one.
  package internal(set) var usesCookie = false
  /// The reason for an error response, for the log.
  ///
  /// A handler that renders an error itself sets it. The client may receive less detail.
  package var failure: Failure?

  init(
    _ request: Request, _ bodySource: any BodySource, _ dependencies: Dependencies,
    by localCaller: LocalCaller?
  ) {
    self.localCaller = localCaller
    self.request = request
    self.bodySource = bodySource
    context = RequestContext(dependencies)
  }

  package var route: Route? { endpoint?.route }

  /// Returns a captured path segment unchanged; empty if the route has no capture of that name.
  package func text(_ name: String) -> String { captures[name] ?? "" }

  /// Returns the id in a captured path segment.
  ///
  /// - Throws: `.notFound` if the segment is not an id.
  package func captured<ID: Identifier>(_ name: String) throws(Failure) -> ID {
    guard let id = captures[name].flatMap({ ID(String($0)) }) else { throw .notFound }
    return id
  }

  /// The app that an operator's request names.
  package var namedApp: App {
    get throws(Failure) {
      guard let app else { throw .unknownApp }
      return app
    }
  }

  /// The user that the request is about.
  ///
  /// This is the user who makes the request, or the `{user}` in the path of an API client, an operator
  /// or an administrator.
  package var user: UserID {
    get throws(Failure) {
      if let user = context.principal.user { return user }
      guard client != nil || localCaller != nil else { throw .tokenMissing }
      return try captured("user")
    }
  }

  /// Identifies the user of an open route by the access token, if the request has one.
  package func identifyUserIfAny(scope: String, proof: Access.Proof) async throws(Failure) {
    guard request.has(.authorization) else { return }
    try await identifyUser(scope: scope, proof: proof)
  }

  /// Identifies the user by the access token of the request.
  func identifyUser(scope: String, proof: Access.Proof) async throws(Failure) {
    let token = try request.bearerToken
    let principal: Principal
    do throws(Failure) {
      principal = try await context.tokens.principal(of: token, app: context.app.id)
    } catch .tokenInvalid where Clients.isSecret(token) {
      let detail =
        "This is the secret of a client. A route of a user takes the access token of the user; "
        + "back ends use /v1/users."
      throw .tokenInvalid(detail)
    }
    try await identify(principal, scope: scope, proof: proof)
  }

  /// Makes a user the principal of the request, after checking the scope and the proof of the
  /// route.
  func identify(
    _ principal: Principal, scope: String? = nil, proof: Access.Proof
  ) async throws(Failure) {
    if let scope { try require(scope, in: principal.scopes) }
    try requireRead(by: principal)
    context.principal = principal
    isByToken = true
    guard proof == .fresh, let user = principal.user else { return }
    try await Sessions.requireFreshProof(of: user, context)
  }

  /// Checks that a user's token has the scope of the route, or a narrower one that suffices.
  ///
  /// - Throws: `.insufficientScope`.
  func require(_ scope: String, in scopes: Scopes) throws(Failure) {
    if scopes.contains(scope) { return }
    let isDeletion = request.method == .delete && scope == Scopes.updateMetadata
    guard isDeletion, scopes.contains(Scopes.deleteMetadata) else {
      throw .insufficientScope(scope: scope)
    }
  }

  /// Checks that a user who only reads does not write, on any wire.
  ///
  /// - Throws: `.insufficientScope`.
  func requireRead(by principal: Principal) throws(Failure) {
    guard principal.isReadOnly, ![.get, .head].contains(request.method) else { return }
    throw .insufficientScope("A session of support only reads.")
  }

  /// Makes an API client the principal of the request.
  func identify(_ client: Client) {
    context.principal = Principal(client.id, in: context.app.id, scopes: client.scopes)
  }

  /// The JSON body of a route that accepts only JSON or only a merge patch.
  package var json: JSON {
    switch body {
    case .json(let json, _), .mergePatch(let json, _): json
    case .none, .jsonPatch, .form, .multipart, .bytes: .null
    }
  }
}

/// A caller in this process.
enum LocalCaller {
  /// The operator, on the command line; the person is nil if unknown.
  case `operator`(CommandLinePerson?)
  /// An administrator, in the console.
  case administrator(Administrator)
}

extension Call {
  /// The only app that the request may concern; nil if it may concern all.
  ///
  /// Only an owner of all apps sees other apps than the one that the request names.
  /// - Throws: `.unknownApp`.
  package var onlyApp: App? {
    get throws(Failure) {
      guard let administrator = context.principal.administrator, administrator.right < .deployment
      else { return nil }
      return try namedApp
    }
  }

  /// Checks that the role of an administrator holds in an app; other callers need none.
  ///
  /// - Throws: `.unknownApp`.
  package func requireAccess(to app: AppID) throws(Failure) {
    guard let administrator = context.principal.administrator else { return }
    // The app of administrators changes by /v1/administrators and on the command line only.
    guard administrator.mayUse(app), app != .operators || request.method == .get else {
      throw .unknownApp
    }
  }

  /// Checks that an administrator has authenticated within the last minutes; other callers need not.
  ///
  /// - Throws: `.reauthenticationRequired`.
  package func requireRecent() throws(Failure) {
    guard context.principal.administrator?.isRecent ?? true else {
      throw .reauthenticationRequired(maxAge: Administrator.proofLifetime)
    }
  }
}

extension Call {
  /// The scheme, host and port of the deployment, as the client sees it.
  package var origin: String {
    askedOrigin ?? context.dependencies[ServiceAddress.self].fallback
  }

  /// The origin that the web server saw; nil if it sent none.
  package var askedOrigin: String? { request.field(.clientOrigin).flatMap(Self.origin) }

  /// Returns the origin in the web server's field, or nil if it is invalid.
  private static func origin(_ text: String) -> String? {
    for scheme in ["http://", "https://"] where text.hasPrefix(scheme) {
      let host = text.dropFirst(scheme.count)
      let isFit = host.utf8.allSatisfy { $0.isLetterOrDigit || ".-:[]".utf8.contains($0) }
      return !host.isEmpty && isFit ? text : nil
    }
    return nil
  }
}

extension FieldName {
  /// The scheme, host and port of the client's request, as the web server saw them.
  ///
  /// The web server writes this field, so none that a client sends arrives.
  package static let clientOrigin = FieldName("Dossier-Client-Origin")
}

/// Counts the loans of a call against its network, and within the network against its user.
///
/// The loans of an API client count against the client, and within it against the user in the path.
/// So a user who sends many requests does not block the app's back end.
extension Call: @EventLoop RequestOwner {
  package var group: Int {
    var hasher = Hasher()
    if let client {
      hasher.combine(1)
      hasher.combine(client.id)
    } else {
      hasher.combine(0)
      hasher.combine(request.clientAddress.network)
    }
    return hasher.finalize()
  }

  package var member: Int? {
    var hasher = Hasher()
    if let user = context.principal.user {
      hasher.combine(2)
      hasher.combine(user)
    } else if let client, let user = captures["user"] {
      hasher.combine(3)
      hasher.combine(client.id)
      hasher.combine(user)
    } else {
      return nil
    }
    return hasher.finalize()
  }

  package var clientAddress: ClientAddress { request.clientAddress }
  package var agent: String? { request.field(.userAgent) }
  package var requestID: String { request.id.description }

  package var languages: [String] {
    request.field(.acceptLanguage).map { AcceptedLanguages($0).tags } ?? []
  }

  /// Whether the client has disconnected and the call has written nothing that needs later steps.
  package var isGone: Bool { bodySource.isGone && !context.hasWritten }
}
