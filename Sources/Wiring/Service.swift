package import Dossier
package import EventLoop
package import HTTP
import JSON

/// The way of every request: router, access, body, handler, answer.
@EventLoop package final class Service {
  private let database: @EventLoop () -> Store
  let tokens: AccessTokens
  private var router = Router<(wire: any Wire, route: Route)>()
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
    /// The program that asked.
    package let client: ClientID?
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
      return await options(request, methods)
    case .otherMethods(let methods): return refused(request, .method(allowed: methods))
    case .nowhere: return refused(request, .noSuchPath)
    case .badPath: return refused(request, .badPath)
    }
  }

  private func refused(_ request: Request, _ refusal: Refusal) -> Outcome {
    outcome(fallback.response(to: refusal, request: request.id))
  }

  private func outcome(_ response: Response) -> Outcome {
    Outcome(
      response: response,
      route: nil,
      user: nil,
      client: nil,
      databaseNanoseconds: 0,
      error: nil
    )
  }

  /// Tells the methods of a path, and a browser whether a page may use them.
  private func options(_ request: Request, _ methods: [Method]) async -> Outcome {
    var response = Response(.noContent)
    let all = (methods + [.options]).map(\.rawValue).joined(separator: ", ")
    response.add(.allow, all)
    response.add(.vary, "Origin")
    // The app is named in the request proper, where its own origins are looked at.
    if let origin = request.field(.origin), await database().apps.allows(origin: origin) {
      CrossOrigin.permit(origin, methods: all, in: &response)
    }
    return outcome(response)
  }

  private func answer(
    _ request: Request,
    _ source: some BodySource,
    _ wire: any Wire,
    _ route: Route,
    _ captures: [String: String]
  ) async -> Outcome {
    var asker = Asker(store: database())
    var response: Response
    var reason: String?
    do throws(Refusal) {
      try await identify(request, route, &asker)
      let call = Call(
        request: request,
        captures: captures,
        body: try await body(of: request, source, route, asker.store),
        preconditions: try Self.preconditions(of: request),
        asker: asker
      )
      do throws(Failure) {
        response = try await route.handler(call)
      } catch {
        throw .failure(error)
      }
    } catch {
      response = wire.response(to: error, request: request.id)
      reason = error.reason
    }
    response.add(asker.store.limits.all)
    if let origin = request.field(.origin), let app = asker.context?.app {
      response.add(.vary, "Origin")
      if app.settings.allows(origin: origin) { CrossOrigin.permit(origin, in: &response) }
    }
    return Outcome(
      response: response,
      route: route,
      user: asker.caller?.user,
      client: asker.client?.id,
      databaseNanoseconds: asker.store.meter.databaseNanoseconds,
      error: reason
    )
  }

  // MARK: What must hold before the handler runs

  private func body(
    of request: Request,
    _ source: some BodySource,
    _ route: Route,
    _ store: Store
  ) async throws(Refusal) -> Body {
    guard route.body != .none else { return .none }
    guard let type = request.field(.contentType).flatMap(MediaType.init),
      route.body.mediaTypes.contains(type)
    else { throw .mediaType(accepted: route.body.mediaTypes) }
    let bytes = try await source.body(limit: route.body.limit)
    if case .bytes = route.body { return .bytes(bytes) }
    let outcome: Result<Body, Refusal>
    do throws(Failure) {
      outcome = try await store.calculate(on: bytes.count) { Body.read(bytes, as: type) }
    } catch {
      throw .failure(error)
    }
    return try outcome.get()
  }

  private static func preconditions(of request: Request) throws(Refusal) -> Preconditions {
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
  fileprivate var reason: String? {
    switch self {
    case .failure(.unforeseen(let reason)): reason
    case .failure(.picture(.unforeseen(let reason))): reason
    case .failure(.picture(.hostile(let signal))): "a picture ended its decoder by signal \(signal)"
    case .failure(.issuerUnavailable(let issuer, let reason, _)): "issuer \(issuer): \(reason)"
    default: nil
    }
  }
}
