import Dossier
import EventLoop
import HTTP

extension Service {
  /// Finds who asks which app.
  ///
  /// Before the body is read: who may not call need not be listened to. What was found stays in
  /// `asker` also when the rest was not.
  func identify(
    _ request: Request,
    _ route: Route,
    _ asker: inout Asker
  ) async throws(Refusal) {
    let store = asker.store
    // The server's own routes work while the database is away.
    if route.access == .loopback {
      guard request.origin.isLocal else { throw .notLoopback }
      return
    }
    do throws(Failure) {
      if try await identifyProgram(request, route, &asker) { return }
      let app = try await store.apps.app(named: request.field(.app), host: request.field(.host))
      var context = Context(app: app, store: store, tokens: tokens, origin: request.origin)
      asker = Asker(store: store, context: context)
      switch route.access {
      case .loopback, .client, .operator: break
      case .user(let scope, let proof):
        let caller = try await tokens.caller(of: request.bearerToken, app: app.id)
        guard caller.scopes.contains(scope) else { throw .forbidden(scope: scope) }
        if proof == .fresh { try await Sessions.requireFreshProof(of: caller, context) }
        asker = Asker(store: store, context: context, caller: caller)
      case .open, .device:
        let usesCookie = try findDevice(of: request, &context)
        guard route.access == .open || context.device != nil else { throw .deviceUnknown }
        asker = Asker(store: store, context: context, usesCookie: usesCookie)
      }
    } catch {
      throw .failure(error)
    }
  }

  /// Finds which program asks; returns whether the route is for programs.
  ///
  /// The database is asked each time: a client that was disabled is refused at once.
  private func identifyProgram(
    _ request: Request,
    _ route: Route,
    _ asker: inout Asker
  ) async throws(Failure) -> Bool {
    let store = asker.store
    let scope: String?
    switch route.access {
    case .client(let name): scope = name
    case .operator: scope = nil
    default: return false
    }
    guard case .token(let key) = BearerToken(request.field(.authorization)) else {
      throw .unknownClient
    }
    let client = try await Clients.client(by: key, in: store)
    asker = Asker(store: store, client: client)
    guard let scope else {
      guard client.isOperator else { throw .forbidden(scope: "operator") }
      // Not every route of the operator is about an app, and those make the first one.
      let app = try? await store.apps.app(named: request.field(.app), host: request.field(.host))
      let context = app.map {
        Context(app: $0, store: store, tokens: tokens, origin: request.origin)
      }
      asker = Asker(store: store, context: context, client: client)
      return true
    }
    let app = try await store.apps.app(named: request.field(.app), host: request.field(.host))
    guard client.belongs(to: app.id) else { throw .unknownClient }
    let context = Context(app: app, store: store, tokens: tokens, origin: request.origin)
    asker = Asker(store: store, context: context, client: client)
    guard client.scopes.contains(scope) else { throw .forbidden(scope: scope) }
    return true
  }

  /// Finds the proof of a device; returns whether it is, or is to be, in a cookie.
  ///
  /// A browser sends a cookie whoever made it ask, so the page must be of an origin that may.
  private func findDevice(of request: Request, _ context: inout Context) throws(Failure) -> Bool {
    let shown = request.field(.device)
    if let shown, shown != DeviceCookie.wish {
      guard let proof = DeviceProof(shown, context.store) else { throw .deviceUnknown }
      context.device = proof
      return false
    }
    // A cookie that is of no use any more is replaced at the next login.
    context.device = Cookie.value(of: DeviceCookie.name, in: request.field(.cookie)).flatMap {
      DeviceProof($0, context.store)
    }
    guard shown != nil || context.device != nil else { return false }
    let changes = request.method != .get && request.method != .head
    if changes, request.field(.origin).map(context.app.settings.allows) != true {
      throw .originForbidden
    }
    return true
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
