import RateLimiting
import Runtime
import Sessions
import Tenancy
import EventLoop
import HTTP

extension Service {
  /// Identifies the app and the caller of a request.
  ///
  /// This runs before the body is read, so that the bodies of rejected callers are not read. If it
  /// throws, `call` keeps the values found so far.
  func identify(_ call: Call, _ endpoint: Endpoint) async throws(Failure) {
    let access = endpoint.route.access.chosen(by: call, endpoint.served)
    if let caller = call.localCaller {
      try await identify(caller, call, access, endpoint)
    } else {
      try await identify(call, access, endpoint.served)
    }
    if access == .loopback, !isOperators(call.request.clientAddress) { throw .internalOnly }
  }

  /// Makes the operator or an administrator the principal of a call in this process.
  ///
  /// - Throws: `.tokenMissing` if the route is not for operators or API clients; `.roleInsufficient`,
  ///   `.unknownApp` for an app in which the role does not hold, `.reauthenticationRequired`.
  private func identify(
    _ caller: LocalCaller, _ call: Call, _ access: Access, _ endpoint: Endpoint
  ) async throws(Failure) {
    switch access {
    case .client: call.app = try await app(of: call, endpoint.served)
    // As for a client of the operator: some of these routes need no app.
    case .operator: call.app = try await appIfAny(of: call, endpoint.served)
    case .open, .user, .device, .loopback, .bearer, .anyOf: throw .tokenMissing
    }
    let app = call.context.app.id
    switch caller {
    case .operator(let person): call.context.principal = Principal(operator: person, in: app)
    case .administrator(let administrator):
      guard let right = endpoint.route.right else { throw .tokenMissing }
      call.context.principal = Principal(administrator, in: app)
      try call.context.require(right)
      guard call.app != nil || administrator.apps == nil else { throw .unknownApp }
      if call.app != nil { try call.requireAccess(to: app) }
      if endpoint.route.needsStepUp { try call.requireRecent() }
    }
  }

  private func identify(
    _ call: Call, _ access: Access, _ served: ServedWire
  ) async throws(Failure) {
    switch access {
    case .open:
      call.app = try await app(of: call, served)
      try findDevice(call, served)
    case .device:
      call.app = try await app(of: call, served)
      try findDevice(call, served)
      guard call.context.device != nil else { throw .deviceUnknown }
    case .user(let scope, let proof):
      call.app = try await app(of: call, served)
      try await call.identifyUser(scope: scope, proof: proof)
    case .client(let scope):
      let client = try await client(of: call, served)
      call.client = client
      let app = try await app(of: call, served)
      guard client.belongs(to: app.id) else { throw .unknownClient }
      call.app = app
      guard client.scopes.contains(scope) else { throw .insufficientScope(scope: scope) }
      call.identify(client)
    case .operator:
      let client = try await client(of: call, served)
      call.client = client
      guard client.isOperator else { throw .insufficientScope("operator") }
      // Some operator routes need no app; one of them creates the first app.
      call.app = try await appIfAny(of: call, served)
      call.identify(client)
    case .bearer(let kind, let proof):
      let app = try await app(of: call, served)
      call.app = app
      let token = try call.request.bearerToken
      guard kind.isOfForm(token) else { throw .tokenInvalid }
      switch try await kind.identify(token, call) {
      case .user(let user):
        guard user.app == app.id else { throw .tokenInvalid }
        try await call.identify(user, proof: proof)
      case .client(let client):
        guard client.belongs(to: app.id) else { throw .unknownClient }
        call.client = client
        call.identify(client)
      }
    // The server's own routes work without the database.
    case .loopback: break
    case .anyOf: throw .internalError(reason: "one of several kinds of access was not chosen")
    }
  }

  /// Identifies the user without suspension, if the route needs only a session.
  ///
  /// Apps and tokens are usually cached.
  /// - Returns: false if `identify` must do it, because something has to be loaded.
  func identifyAtOnce(_ call: Call, _ endpoint: Endpoint) throws(Failure) -> Bool {
    guard case .user(let scope, let proof) = endpoint.route.access, proof != .fresh,
      let app = knownApp(of: call, endpoint.served)
    else { return false }
    do throws(Failure) {
      let request = call.request
      guard let field = request.bytes(of: .authorization),
        let start = BearerToken.start(in: field),
        let user = try tokens.known(field.extracting(start...), app: app.id)
      else { return false }
      call.app = app
      try call.require(scope, in: user.scopes)
      try call.requireRead(by: user)
      call.context.principal = user
      call.isByToken = true
      return true
    } catch {
      call.app = app
      throw error
    }
  }

  private func knownApp(of call: Call, _ served: ServedWire) -> App? {
    guard let reference = try? served.wire.app(of: call) else { return nil }
    let apps = call.context.apps
    let app =
      switch reference {
      case .named(let name): apps.known(named: name, host: nil)
      case .host: apps.known(named: nil, host: call.request.field(.host))
      case .id: nil as App?
      }
    return app.flatMap { served.wire.isOffered(by: $0, to: call) ? $0 : nil }
  }

  /// Returns the app of a request, which the wire names.
  ///
  /// - Throws: `.unknownApp`, `.wireDisabled` if the app does not offer the wire,
  ///   `.databaseUnavailable`.
  func app(of call: Call, _ served: ServedWire) async throws(Failure) -> App {
    if let app = knownApp(of: call, served) { return app }
    let apps = call.context.apps
    let app =
      switch try served.wire.app(of: call) {
      case .named(let name): try await apps.app(named: name, host: nil)
      case .host: try await apps.app(named: nil, host: call.request.field(.host))
      case .id(let id): try await apps.app(id)
      }
    guard served.wire.isOffered(by: app, to: call) else { throw .wireDisabled }
    return app
  }

  /// Returns the app of a request; nil if there is no such app.
  ///
  /// - Throws: `.databaseUnavailable`.
  private func appIfAny(of call: Call, _ served: ServedWire) async throws(Failure) -> App? {
    do throws(Failure) {
      return try await app(of: call, served)
    } catch let error where error.isDecision {
      return nil
    }
  }

  /// Returns the API client whose secret the request contains.
  ///
  /// It queries the database for each request, so a disabled client is refused at once.
  private func client(of call: Call, _ served: ServedWire) async throws(Failure) -> Client {
    guard case .token(let secret) = BearerToken(call.request.field(.authorization)) else {
      throw .unknownClient
    }
    do throws(Failure) {
      return try await Clients.client(by: secret, call.context)
    } catch .unknownClient {
      // Recorded in the audit log of the requested app, if it exists.
      if let app = try await appIfAny(of: call, served) {
        call.app = app
        try await RefusedLogin.record("client-secret", call.context)
      }
      throw .unknownClient
    }
  }
}

extension Access {
  /// Returns the kind of access whose credentials the request contains.
  ///
  /// Only the form of the credentials decides here. The chosen kind verifies them later.
  @EventLoop fileprivate func chosen(by call: Call, _ served: ServedWire) -> Access {
    guard case .anyOf(let all) = self else { return self }
    return all.first { $0.isShown(by: call, served) }?.chosen(by: call, served)
      ?? all.first?.chosen(by: call, served) ?? .operator
  }

  @EventLoop private func isShown(by call: Call, _ served: ServedWire) -> Bool {
    let token = try? call.request.bearerToken
    return switch self {
    case .open: true
    case .user: token.map(AccessTokens.isOfForm) ?? false
    case .client, .operator: token.map(Clients.isSecret) ?? false
    case .bearer(let kind, _): token.map(kind.isOfForm) ?? false
    case .device: call.showsDevice(served)
    case .loopback: call.request.clientAddress.isLocal
    case .anyOf(let all): all.contains { $0.isShown(by: call, served) }
    }
  }
}

extension Request {
  var clientAddress: ClientAddress { ClientAddress(address) }

  /// The `Bearer` token of the request.
  ///
  /// - Throws: `.tokenMissing`, or `.tokenInvalid` if the token is malformed.
  package var bearerToken: String {
    get throws(Failure) {
      switch BearerToken(field(.authorization)) {
      case .none: throw .tokenMissing
      case .malformed: throw .tokenInvalid
      case .token(let token): return token
      }
    }
  }
}
