import Tenancy
package import Runtime
import Sessions
package import EventLoop
package import HTTP

/// The processing of every request: router, access, body, handler, response.
@EventLoop package final class Service {
  private let dependencies: Dependencies
  var tokens: AccessTokens { dependencies[AccessTokens.self] }
  private let router = Router()
  private var endpoints: [Endpoint] = []
  private let wires: [ServedWire]
  private let isOfOperators: @EventLoop (ClientAddress) -> Bool

  /// Creates a service.
  ///
  /// - Parameters:
  ///   - wires: the wires; the first also answers paths that belong to no wire.
  ///   - dependencies: the dependencies of the domain.
  ///   - isOfOperators: returns whether an address other than this machine may use the server's
  ///     own routes.
  package init(
    wires: [any Wire], _ dependencies: Dependencies,
    isOfOperators: @escaping @EventLoop (ClientAddress) -> Bool = { _ in false }
  ) {
    precondition(!wires.isEmpty, "a service without a wire")
    self.wires = wires.map(ServedWire.init)
    self.dependencies = dependencies
    self.isOfOperators = isOfOperators
    for served in self.wires {
      for route in served.wire.routes {
        router.add(route.method, route.pattern, endpoints.count)
        endpoints.append(Endpoint(route, of: served, number: endpoints.count))
      }
    }
  }

  /// Returns whether an address may use the server's own routes.
  func isOperators(_ address: ClientAddress) -> Bool { address.isLocal || isOfOperators(address) }

  /// Creates the state of a request from the network.
  package func call(_ request: Request, _ body: any BodySource) -> Call {
    Call(request, body, dependencies, isOfOperator: false)
  }

  /// Creates the state of a request that the operator makes in this process.
  ///
  /// It may use the routes of the operator and of API clients, without a secret. Only the command line
  /// creates such calls.
  package func operatorCall(_ request: Request, _ body: any BodySource) -> Call {
    Call(request, body, dependencies, isOfOperator: true)
  }

  /// Answers a request; always returns a response.
  package func answer(_ call: Call) async -> Response {
    let endpoint: Endpoint
    switch router.match(call.request.method, call.request.path) {
    case .found(let number, let captures):
      endpoint = endpoints[number]
      call.captures = captures
    case .otherMethods(let methods): return await fail(call, .methodNotAllowed, methods)
    case .nowhere: return await fail(call, .routeNotFound)
    case .badPath: return await fail(call, .pathMalformed)
    }
    call.endpoint = endpoint
    call.context.owner = call
    var response: Response
    do throws(Failure) {
      // Each call of an `async` function costs as much as the whole check of a known app and token.
      if try !identifyAtOnce(call, endpoint) { try await identify(call, endpoint) }
      try readPreconditions(of: call, endpoint.route)
      if endpoint.route.body != .none {
        call.body = try await body(of: call, endpoint.route.body)
      }
      if endpoint.route.method == .post, call.request.has(.idempotencyKey) {
        response = try await once(call, endpoint.route)
      } else {
        response = try await endpoint.route.handler(call)
      }
      if call.preconditions.arePresent {
        response = try conditional(response, call, endpoint.route)
      }
    } catch {
      response = Self.response(to: error, of: call, endpoint.served)
      if error.type == .mediaType, endpoint.route.body.mediaTypes.contains(.mergePatch) {
        let types = endpoint.route.body.mediaTypes.map(\.rawValue)
        response.add(.acceptPatch, types.joined(separator: ", "))
      }
    }
    // Breaks the reference cycle of the call and its context.
    call.context.owner = nil
    response.add(call.context.notedLimits)
    endpoint.served.addCounters(to: &response, of: call)
    response.add(line: "Vary: Origin\r\n")
    if endpoint.route.isCrossOrigin, let origin = call.request.field(.origin),
      let access = await access(of: origin, call)
    {
      endpoint.served.crossOrigin.permit(origin, access, in: &response)
    }
    guard response.headLength <= Self.longestHead else {
      return await fail(call, Failure(.uriTooLong))
    }
    return response
  }

  /// The longest head of a response, in bytes.
  ///
  /// The buffer of nginx has 16 KiB. It takes a worker that sends more for a dead one. Only text of
  /// the request makes a head so long.
  private static let longestHead = 15_000

  // MARK: Requests without a route

  /// Returns an error, or the methods of a path, in the format of the wire that owns the path.
  ///
  /// Pages of other origins may read it too. Otherwise a wrong path would look like a missing
  /// permission.
  private func fail(
    _ call: Call, _ failure: Failure, _ methods: [Method]? = nil
  ) async -> Response {
    let served = wire(of: call.request.path)
    let origin = call.request.field(.origin)
    if call.request.method == .options {
      if let methods { return await options(call, methods, served, origin) }
      // Answer preflight for an unknown path, so that the page can read the 404 of the real
      // request.
      if origin != nil || served.ownedLength(of: call.request.path) != nil {
        return await options(call, Self.allMethods, served, origin)
      }
    }
    // The app only decides which pages may read the error.
    if origin != nil { call.app = try? await app(of: call, served) }
    var response = Self.response(to: failure, of: call, served)
    served.addCounters(to: &response, of: call)
    if let methods { response.add(.allow, Self.text(of: methods + [.options])) }
    response.add(line: "Vary: Origin\r\n")
    if let origin, let access = await access(of: origin, call) {
      served.crossOrigin.permit(origin, access, in: &response)
    }
    return response
  }

  /// Returns the wire's response for an error, and records the error for the log.
  private static func response(
    to failure: Failure, of call: Call, _ served: ServedWire
  ) -> Response {
    call.failure = failure
    var response = served.wire.response(to: failure, of: call)
    if let time = failure.retryAfter { response.add(.retryAfter, String(time.wholeSeconds)) }
    return response
  }

  private static let allMethods: [Method] = [.get, .put, .post, .patch, .delete]

  /// Returns the access of an origin to the response; nil to send no CORS fields.
  ///
  /// If no app was found, any origin that some app allows may read the error. Such a response
  /// contains no user's data.
  private func access(of origin: String, _ call: Call) async -> CrossOrigin.Access? {
    if let app = call.app { return CrossOrigin.Access(of: origin, to: [app]) }
    guard call.failure != nil else { return nil }
    // Without the apps, the page cannot read the error, which is sent all the same.
    return try? await accessToSomeApp(of: origin, call)
  }

  private func accessToSomeApp(
    of origin: String, _ call: Call
  ) async throws(Failure) -> CrossOrigin.Access? {
    CrossOrigin.Access(of: origin, to: try await call.context.apps.all())
  }

  /// Returns the methods of a path, and whether a page may send requests to it.
  ///
  /// It answers preflight for every method, so that the page can read the 405.
  private func options(
    _ call: Call, _ methods: [Method], _ served: ServedWire, _ origin: String?
  ) async -> Response {
    var response = Response(.noContent)
    response.add(.allow, Self.text(of: methods + [.options]))
    response.add(line: "Vary: Origin\r\n")
    // The real request names the app, and the app's own origins are checked then.
    do throws(Failure) {
      if let origin, let access = try await accessToSomeApp(of: origin, call) {
        let methods = Self.text(of: Self.allMethods)
        served.crossOrigin.permit(origin, access, methods: methods, in: &response)
      }
    } catch {
      return Self.response(to: error, of: call, served)
    }
    return response
  }

  private static func text(of methods: [Method]) -> String {
    methods.map(\.rawValue).joined(separator: ", ")
  }

  /// Returns the wire with the longest matching prefix of a path, or the first wire.
  private func wire(of path: Substring) -> ServedWire {
    var (best, most) = (wires[0], 0)
    for served in wires {
      if let length = served.ownedLength(of: path), length > most {
        (best, most) = (served, length)
      }
    }
    return best
  }
}
