package import Dossier
package import EventLoop
package import HTTP
import JSON

/// The way of every request: router, access, body, handler, answer.
@EventLoop package final class Service {
  private let makeStore: @EventLoop () -> Store
  let tokens: AccessTokens
  private let router = Router()
  private var endpoints: [Endpoint] = []
  private let fallback: any Wire

  /// - Parameters:
  ///   - wires: of which the first speaks to those who ask for no route of any.
  ///   - tokens: who reads and issues access tokens.
  ///   - store: makes the store of one request.
  package init(
    wires: [any Wire],
    tokens: AccessTokens,
    store: @escaping @EventLoop () -> Store
  ) {
    precondition(!wires.isEmpty, "a service without a wire")
    fallback = wires[0]
    self.tokens = tokens
    makeStore = store
    for wire in wires {
      for route in wire.routes {
        router.add(route.method, route.pattern, endpoints.count)
        endpoints.append(Endpoint(route, of: wire, number: endpoints.count))
      }
    }
  }

  /// What will be known of a request.
  package func call(_ request: Request, _ body: any BodySource) -> Call {
    Call(request, body, store: makeStore(), tokens: tokens)
  }

  /// Answers a request; whatever happens, there is an answer.
  package func answer(_ call: Call) async -> Response {
    let endpoint: Endpoint
    switch router.match(call.request.method, call.request.path) {
    case .found(let number, let captures):
      endpoint = endpoints[number]
      call.captures = captures
    case .otherMethods(let methods) where call.request.method == .options:
      return await options(call, methods)
    case .otherMethods(let methods): return refused(call, .method(allowed: methods))
    case .nowhere: return refused(call, .noSuchPath)
    case .badPath: return refused(call, .badPath)
    }
    call.endpoint = endpoint
    var response: Response
    do throws(Refusal) {
      // Each function that may wait costs as much as all that a known app and token take.
      if try !identifyAtOnce(call, endpoint.route.access) {
        try await identify(call, endpoint.route.access)
      }
      if endpoint.route.body != .none {
        call.store.owner = call
        call.body = try await body(of: call, endpoint.route)
      }
      call.preconditions = try Self.preconditions(of: call.request)
      do throws(Failure) {
        response = try await endpoint.route.handler(call)
      } catch {
        throw .failure(error)
      }
    } catch {
      response = endpoint.wire.response(to: error, request: call.request.id)
      call.refusal = error
    }
    // Each of the two would keep the other.
    call.store.owner = nil
    response.add(call.store.notedLimits)
    if let app = call.app, let origin = call.request.field(.origin) {
      response.add(.vary, "Origin")
      if app.settings.allows(origin: origin) { CrossOrigin.permit(origin, in: &response) }
    }
    return response
  }

  private func refused(_ call: Call, _ refusal: Refusal) -> Response {
    fallback.response(to: refusal, request: call.request.id)
  }

  /// Tells the methods of a path, and a browser whether a page may use them.
  private func options(_ call: Call, _ methods: [Method]) async -> Response {
    var response = Response(.noContent)
    let all = (methods + [.options]).map(\.rawValue).joined(separator: ", ")
    response.add(.allow, all)
    response.add(.vary, "Origin")
    // The app is named in the request proper, where its own origins are looked at.
    if let origin = call.request.field(.origin), await call.store.apps.allows(origin: origin) {
      CrossOrigin.permit(origin, methods: all, in: &response)
    }
    return response
  }

  // MARK: What must hold before the handler runs

  private func body(of call: Call, _ route: Route) async throws(Refusal) -> Body {
    guard let type = call.request.field(.contentType).flatMap(MediaType.init),
      route.body.mediaTypes.contains(type)
    else { throw .mediaType(accepted: route.body.mediaTypes) }
    let bytes = try await call.bodySource.body(limit: route.body.limit)
    if case .bytes = route.body { return .bytes(bytes) }
    let outcome: Result<Body, Refusal>
    do throws(Failure) {
      outcome = try await call.store.calculate(on: bytes.count) { Body.read(bytes, as: type) }
    } catch {
      throw .failure(error)
    }
    return try outcome.get()
  }

  private static func preconditions(of request: Request) throws(Refusal) -> Preconditions {
    guard request.has(.ifMatch) || request.has(.ifNoneMatch) else { return Preconditions() }
    do throws(TagSyntaxError) {
      return try Preconditions(request)
    } catch {
      throw .condition(reason: "If-Match and If-None-Match take entity tags in quotes, or *.")
    }
  }
}

extension Body {
  /// What passes the JSON gate.
  fileprivate static func read(_ bytes: [UInt8], as type: MediaType) -> Result<Body, Refusal> {
    let json: JSON
    do throws(JSONError) {
      json = try JSON.parse(bytes)
    } catch {
      return .failure(.json(error))
    }
    switch type {
    case .mergePatch: return .success(.mergePatch(json, bytes: bytes))
    case .jsonPatch:
      do throws(JSONPatchError) {
        return .success(.jsonPatch(try JSONPatch(json)))
      } catch {
        switch error {
        case .malformed(let pointer, let reason), .notApplicable(let pointer, let reason):
          return .failure(.patch(pointer: pointer, reason: reason))
        case .testFailed(let pointer): return .failure(.patch(pointer: pointer, reason: ""))
        }
      }
    default: return .success(.json(json, bytes: bytes))
    }
  }
}

extension Refusal {
  /// What only the operator is told.
  var reason: String? {
    switch self {
    case .failure(let failure) where failure.cause != nil:
      failure.cause.map { "database: \($0)" }
    case .failure(.unforeseen(let reason)): reason
    case .failure(.picture(.unforeseen(let reason))): reason
    case .failure(.picture(.hostile(let signal))): "a picture ended its decoder by signal \(signal)"
    case .failure(.issuerUnavailable(let issuer, let reason, _)): "issuer \(issuer): \(reason)"
    default: nil
    }
  }
}
