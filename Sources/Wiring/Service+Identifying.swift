import Dossier
import EventLoop
import HTTP

extension Service {
  /// Finds who asks which app.
  ///
  /// Before the body is read: who may not call need not be listened to. What was found stays in
  /// `call` also when the rest was not.
  func identify(_ call: Call, _ endpoint: Endpoint) async throws(Refusal) {
    let access = endpoint.route.access.chosen(by: call, endpoint.served)
    do throws(Failure) {
      try await identify(call, access, endpoint.served)
    } catch {
      throw .failure(error)
    }
    if access == .loopback, !isOperators(call.request.clientAddress) { throw .notLoopback }
  }

  private func identify(
    _ call: Call,
    _ access: Access,
    _ served: ServedWire
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
      guard client.scopes.contains(scope) else { throw .forbidden(scope: scope) }
      call.identify(client)
    case .operator:
      let client = try await client(of: call, served)
      call.client = client
      guard client.isOperator else { throw .forbidden(scope: "operator") }
      // Not every route of the operator is about an app, and those make the first one.
      call.app = try? await app(of: call, served)
      call.identify(client)
    case .bearer(let kind, let proof):
      let app = try await app(of: call, served)
      call.app = app
      let token = try call.request.bearerToken
      guard kind.isOfForm(token) else { throw .unauthenticated(.malformed) }
      switch try await kind.identify(token, call) {
      case .user(let user):
        guard user.app == app.id else { throw .unauthenticated(.malformed) }
        try await call.identify(user, proof: proof)
      case .client(let client):
        guard client.belongs(to: app.id) else { throw .unknownClient }
        call.client = client
        call.identify(client)
      }
    // The server's own routes work while the database is away.
    case .loopback: break
    case .anyOf: throw .unforeseen("one of several kinds of access was not chosen")
    }
  }

  /// Does the same for the route of a user whose session is enough, when nothing has to be waited
  /// for; returns whether it did.
  ///
  /// Apps and tokens are known, as a rule.
  func identifyAtOnce(_ call: Call, _ endpoint: Endpoint) throws(Refusal) -> Bool {
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
      guard user.scopes.contains(scope) else { throw .forbidden(scope: scope) }
      call.context.principal = user
      call.isByToken = true
      return true
    } catch {
      call.app = app
      throw .failure(error)
    }
  }

  private func knownApp(of call: Call, _ served: ServedWire) -> App? {
    guard let reference = try? served.wire.app(of: call) else { return nil }
    let apps = call.context.apps
    return switch reference {
    case .named(let name): apps.known(named: name, host: nil)
    case .host: apps.known(named: nil, host: call.request.field(.host))
    case .id: nil
    }
  }

  /// The app that a request is for, as its wire reads it.
  func app(of call: Call, _ served: ServedWire) async throws(Failure) -> App {
    if let app = knownApp(of: call, served) { return app }
    let apps = call.context.apps
    return switch try served.wire.app(of: call) {
    case .named(let name): try await apps.app(named: name, host: nil)
    case .host: try await apps.app(named: nil, host: call.request.field(.host))
    case .id(let id): try await apps.app(id)
    }
  }

  /// The program whose key came with the request.
  ///
  /// The database is asked each time: a client that was disabled is refused at once.
  private func client(of call: Call, _ served: ServedWire) async throws(Failure) -> Client {
    guard case .token(let key) = BearerToken(call.request.field(.authorization)) else {
      throw .unknownClient
    }
    do throws(Failure) {
      return try await Clients.client(by: key, call.context)
    } catch .unknownClient {
      // In the trail of the app that was asked, where there is one.
      if let app = try? await app(of: call, served) {
        call.app = app
        try await RefusedLogin.record("client-key", call.context)
      }
      throw .unknownClient
    }
  }
}

extension Access {
  /// Of several kinds, the one whose credentials came with the request.
  ///
  /// They are told apart by their forms alone; whether they are good is found out by the one chosen.
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
    case .client, .operator: token.map(Clients.isKey) ?? false
    case .bearer(let kind, _): token.map(kind.isOfForm) ?? false
    case .device: call.showsDevice(served)
    case .loopback: call.request.clientAddress.isLocal
    case .anyOf(let all): all.contains { $0.isShown(by: call, served) }
    }
  }
}

extension Request {
  var clientAddress: ClientAddress { ClientAddress(address) }

  /// What came as `Bearer`.
  ///
  /// - Throws: `.unauthenticated`.
  package var bearerToken: String {
    get throws(Failure) {
      switch BearerToken(field(.authorization)) {
      case .none: throw .unauthenticated(.missing)
      case .malformed: throw .unauthenticated(.malformed)
      case .token(let token): return token
      }
    }
  }
}
