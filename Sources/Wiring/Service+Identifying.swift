import Dossier
import EventLoop
import HTTP

extension Service {
  /// Finds who asks which app.
  ///
  /// Before the body is read: who may not call need not be listened to. What was found stays in
  /// `call` also when the rest was not.
  func identify(_ call: Call, _ access: Access) async throws(Refusal) {
    do throws(Failure) {
      switch access {
      case .open:
        call.app = try await app(of: call)
        try findDevice(call)
      case .device:
        call.app = try await app(of: call)
        try findDevice(call)
        guard call.device != nil else { throw .deviceUnknown }
      case .user(let scope, let proof):
        let app = try await app(of: call)
        call.app = app
        let user = try await tokens.caller(of: call.request.bearerToken, app: app.id)
        guard user.scopes.contains(scope) else { throw .forbidden(scope: scope) }
        if proof == .fresh {
          try await Sessions.requireFreshProof(of: user, call.context(of: app))
        }
        call.user = user
      case .client(let scope):
        let client = try await client(of: call)
        call.client = client
        let app = try await app(of: call)
        guard client.belongs(to: app.id) else { throw .unknownClient }
        call.app = app
        guard client.scopes.contains(scope) else { throw .forbidden(scope: scope) }
      case .operator:
        let client = try await client(of: call)
        call.client = client
        guard client.isOperator else { throw .forbidden(scope: "operator") }
        // Not every route of the operator is about an app, and those make the first one.
        call.app = try? await app(of: call)
      // The server's own routes work while the database is away.
      case .loopback: break
      }
    } catch {
      throw .failure(error)
    }
    if case .loopback = access, !call.request.origin.isLocal { throw .notLoopback }
  }

  /// Does the same for the route of a user whose session is enough, when nothing has to be waited
  /// for; returns whether it did.
  ///
  /// Apps and tokens are known, as a rule.
  func identifyAtOnce(_ call: Call, _ access: Access) throws(Refusal) -> Bool {
    guard case .user(let scope, let proof) = access, proof != .fresh, let app = knownApp(of: call)
    else { return false }
    do throws(Failure) {
      let request = call.request
      guard let field = request.bytes(of: .authorization),
        let start = BearerToken.start(in: field),
        let user = try tokens.known(field.extracting(start...), app: app.id)
      else { return false }
      call.app = app
      guard user.scopes.contains(scope) else { throw .forbidden(scope: scope) }
      call.user = user
      return true
    } catch {
      call.app = app
      throw .failure(error)
    }
  }

  private func knownApp(of call: Call) -> App? {
    call.store.apps.known(named: call.request.field(.app), host: call.request.field(.host))
  }

  private func app(of call: Call) async throws(Failure) -> App {
    if let app = knownApp(of: call) { return app }
    return try await call.store.apps.app(
      named: call.request.field(.app),
      host: call.request.field(.host)
    )
  }

  /// The program whose key came with the request.
  ///
  /// The database is asked each time: a client that was disabled is refused at once.
  private func client(of call: Call) async throws(Failure) -> Client {
    guard case .token(let key) = BearerToken(call.request.field(.authorization)) else {
      throw .unknownClient
    }
    return try await Clients.client(by: key, in: call.store)
  }

  /// Finds the proof of a device, and whether it is, or is to be, in a cookie.
  ///
  /// A browser sends a cookie whoever made it ask, so the page must be of an origin that may.
  private func findDevice(_ call: Call) throws(Failure) {
    let request = call.request
    let shown = request.field(.device)
    if let shown, shown != DeviceCookie.wish {
      guard let proof = DeviceProof(shown, call.store) else { throw .deviceUnknown }
      call.device = proof
      return
    }
    // A cookie that is of no use any more is replaced at the next login.
    let device = Cookie.value(of: DeviceCookie.name, in: request.field(.cookie)).flatMap {
      DeviceProof($0, isCookie: true, call.store)
    }
    guard shown != nil || device != nil else { return }
    let changes = request.method != .get && request.method != .head
    if changes, request.field(.origin).flatMap({ call.app?.settings.allows(origin: $0) }) != true {
      throw .originForbidden
    }
    call.device = device
    call.usesCookie = true
  }
}

/// How a browser holds its device.
package enum DeviceCookie {
  package static let name = "__Host-dossier-device"
  /// The value of `Dossier-Device` by which a login asks for it.
  package static let wish = "cookie"
}

extension Request {
  var origin: Origin { Origin(address: address, agent: field(.userAgent)) }

  var bearerToken: String {
    get throws(Failure) {
      switch BearerToken(field(.authorization)) {
      case .none: throw .unauthenticated(.missing)
      case .malformed: throw .unauthenticated(.malformed)
      case .token(let token): return token
      }
    }
  }
}
