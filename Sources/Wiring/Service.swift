package import Dossier
package import EventLoop
package import HTTP
import JSON

/// The way of every request: router, access, body, handler, answer.
@EventLoop package final class Service {
  private let database: @EventLoop () -> Store
  private let tokens: AccessTokens
  private let appName: String
  private var router = Router<(wire: any Wire, route: Route)>()
  private let fallback: any Wire

  /// - Parameters:
  ///   - wires: of which the first speaks to those who ask for no route of any.
  ///   - appName: the app that is served.
  ///   - tokens: who reads and issues access tokens.
  ///   - store: makes the store of one request.
  package init(
    wires: [any Wire],
    appName: String,
    tokens: AccessTokens,
    store: @escaping @EventLoop () -> Store
  ) {
    precondition(!wires.isEmpty, "a service without a wire")
    fallback = wires[0]
    self.appName = appName
    self.tokens = tokens
    database = store
    for wire in wires {
      for route in wire.routes { router.add(route.method, route.pattern, (wire, route)) }
    }
  }

  /// An answer, with what the log says of it.
  package struct Outcome {
    package let response: Response
    /// Nil when no route was found.
    package let route: Route?
    package let user: UserID?
    package let databaseNanoseconds: UInt64
    /// For the operator only.
    package let error: String?
  }

  /// Answers a request; whatever happens, there is an answer.
  package func answer(_ request: Request, _ source: some BodySource) async -> Outcome {
    switch router.match(request.method, request.path) {
    case .found((let wire, let route), let captures):
      return await answer(request, source, wire, route, captures)
    case .otherMethods(let methods) where request.method == .options:
      var response = Response(.noContent)
      let all = (methods + [.options]).map(\.rawValue).joined(separator: ", ")
      response.add(.allow, all)
      return Outcome(response: response, route: nil, user: nil, databaseNanoseconds: 0, error: nil)
    case .otherMethods(let methods): return refused(request, .method(allowed: methods))
    case .nowhere: return refused(request, .noSuchPath)
    case .badPath: return refused(request, .badPath)
    }
  }

  private func refused(_ request: Request, _ refusal: Refusal) -> Outcome {
    Outcome(
      response: fallback.response(to: refusal, request: request.id),
      route: nil,
      user: nil,
      databaseNanoseconds: 0,
      error: nil
    )
  }

  private func answer(
    _ request: Request,
    _ source: some BodySource,
    _ wire: any Wire,
    _ route: Route,
    _ captures: [String: String]
  ) async -> Outcome {
    let store = database()
    var user: UserID?
    var response: Response
    do throws(Refusal) {
      let (app, caller) = try await identify(request, route, store)
      user = caller?.user
      let call = Call(
        request: request,
        captures: captures,
        body: try await body(of: request, source, route),
        preconditions: try Self.preconditions(of: request),
        app: app,
        store: store,
        tokens: tokens,
        caller: caller
      )
      do throws(Failure) {
        response = try await route.handler(call)
      } catch {
        throw .failure(error)
      }
    } catch {
      response = wire.response(to: error, request: request.id)
      if case .failure(.unforeseen(let reason)) = error { return outcome(reason) }
      return outcome(nil)
    }
    return outcome(nil)

    func outcome(_ error: String?) -> Outcome {
      Outcome(
        response: response,
        route: route,
        user: user,
        databaseNanoseconds: store.meter.databaseNanoseconds,
        error: error
      )
    }
  }

  // MARK: What must hold before the handler runs

  /// Finds who asks which app.
  ///
  /// Before the body is read: who may not call need not be listened to.
  private func identify(
    _ request: Request,
    _ route: Route,
    _ store: Store
  ) async throws(Refusal) -> (App?, Caller?) {
    // The server's own routes work while the database is away.
    if route.access == .loopback {
      guard Self.isLoopback(request.address) else { throw .notLoopback }
      return (nil, nil)
    }
    do throws(Failure) {
      guard case .user(let scope) = route.access else {
        return (try await store.apps.named(appName), nil)
      }
      switch BearerToken(request.field(.authorization)) {
      case .none: throw .unauthenticated(.missing)
      case .malformed: throw .unauthenticated(.malformed)
      case .token(let token):
        let app = try await store.apps.named(appName)
        let caller = try await tokens.caller(of: token, app: app.id)
        guard caller.scopes.contains(scope) else { throw .forbidden(scope: scope) }
        return (app, caller)
      }
    } catch {
      throw .failure(error)
    }
  }

  private func body(
    of request: Request,
    _ source: some BodySource,
    _ route: Route
  ) async throws(Refusal) -> Body {
    guard route.body != .none else { return .none }
    guard let type = request.field(.contentType).flatMap(MediaType.init),
      route.body.mediaTypes.contains(type)
    else { throw .mediaType(accepted: route.body.mediaTypes) }
    let bytes = try await source.body(limit: route.body.limit)
    let json: JSON
    do throws(JSONError) {
      json = try JSON.parse(bytes)
    } catch {
      throw .json(error)
    }
    switch type {
    case .mergePatch: return .mergePatch(json, bytes: bytes)
    case .jsonPatch:
      do throws(JSONPatchError) {
        return .jsonPatch(try JSONPatch(json))
      } catch {
        switch error {
        case .malformed(let pointer, let reason), .notApplicable(let pointer, let reason):
          throw .patch(pointer: pointer, reason: reason)
        case .testFailed(let pointer): throw .patch(pointer: pointer, reason: "")
        }
      }
    default: return .json(json, bytes: bytes)
    }
  }

  private static func preconditions(of request: Request) throws(Refusal) -> Preconditions {
    do throws(TagSyntaxError) {
      return try Preconditions(request)
    } catch {
      throw .condition(reason: "If-Match and If-None-Match take entity tags in quotes, or *.")
    }
  }

  /// `unix:` is what nginx says of a client on a Unix socket.
  private static func isLoopback(_ address: String?) -> Bool {
    guard let address else { return false }
    return address.hasPrefix("127.") || address == "::1" || address == "unix:"
  }
}
