package import Dossier
package import EventLoop
package import HTTP

/// The way of every request: router, access, body, handler, answer.
@EventLoop package final class Service {
  private let dependencies: Dependencies
  var tokens: AccessTokens { dependencies.tokens }
  private let router = Router()
  private var endpoints: [Endpoint] = []
  private let wires: [ServedWire]
  private let isOfOperators: @EventLoop (ClientAddress) -> Bool

  /// - Parameters:
  ///   - wires: of which the first speaks to those whose path is no wire's.
  ///   - dependencies: the dependencies of the domain.
  ///   - isOfOperators: from where, beside this machine, the server's own routes may be asked.
  package init(
    wires: [any Wire],
    _ dependencies: Dependencies,
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

  /// Whether the server's own routes may be asked from there.
  func isOperators(_ address: ClientAddress) -> Bool { address.isLocal || isOfOperators(address) }

  /// What will be known of a request.
  package func call(_ request: Request, _ body: any BodySource) -> Call {
    Call(request, body, dependencies)
  }

  /// Answers a request; whatever happens, there is an answer.
  package func answer(_ call: Call) async -> Response {
    let endpoint: Endpoint
    switch router.match(call.request.method, call.request.path) {
    case .found(let number, let captures):
      endpoint = endpoints[number]
      call.captures = captures
    case .otherMethods(let methods): return await refused(call, .method(allowed: methods))
    case .nowhere: return await refused(call, .noSuchPath)
    case .badPath: return await refused(call, .badPath)
    }
    call.endpoint = endpoint
    call.context.owner = call
    var response: Response
    do throws(Refusal) {
      // Each function that may wait costs as much as all that a known app and token take.
      if try !identifyAtOnce(call, endpoint) { try await identify(call, endpoint) }
      if endpoint.route.body != .none {
        call.body = try await body(of: call, endpoint.route.body)
      }
      try readPreconditions(of: call, endpoint.route)
      if endpoint.route.method == .post, call.request.has(.idempotencyKey) {
        response = try await once(call, endpoint.route)
      } else {
        do throws(Failure) {
          response = try await endpoint.route.handler(call)
        } catch {
          throw .failure(error)
        }
      }
      if call.preconditions.arePresent {
        response = try conditional(response, call, endpoint.route)
      }
    } catch {
      response = endpoint.served.wire.response(to: error, of: call)
      call.refusal = error
    }
    // Each of the two would keep the other.
    call.context.owner = nil
    response.add(call.context.notedLimits)
    response.add(.vary, literal: "Origin")
    if let origin = call.request.field(.origin), await allows(origin, call) {
      endpoint.served.crossOrigin.permit(origin, in: &response)
    }
    return response
  }

  // MARK: What no route answers

  /// Says what a path has, or that it has nothing, in the words of the wire whose path it is.
  ///
  /// A page of another origin is to see that too: else a wrong path looks like a missing permission.
  private func refused(_ call: Call, _ refusal: Refusal) async -> Response {
    let served = wire(of: call.request.path)
    let origin = call.request.field(.origin)
    if call.request.method == .options {
      if case .method(let methods) = refusal { return await options(call, methods, served, origin) }
      // A browser asks before it sends: that nothing is there it is to hear of the request proper.
      if origin != nil || served.ownedLength(of: call.request.path) != nil {
        return await options(call, Self.allMethods, served, origin)
      }
    }
    call.refusal = refusal
    if origin != nil { call.app = try? await app(of: call, served) }
    var response = served.wire.response(to: refusal, of: call)
    response.add(.vary, literal: "Origin")
    if let origin, await allows(origin, call) {
      served.crossOrigin.permit(origin, in: &response)
    }
    return response
  }

  private static let allMethods: [Method] = [.get, .put, .post, .patch, .delete]

  /// Whether a page may read the answer.
  ///
  /// Where no app was found, why not is for the pages of all: no answer is anybody's then.
  private func allows(_ origin: String, _ call: Call) async -> Bool {
    if let app = call.app { return app.settings.allows(origin: origin) }
    guard call.refusal != nil else { return false }
    return await call.context.apps.allows(origin: origin)
  }

  /// Tells the methods of a path, and a browser whether a page may send there.
  ///
  /// Whatever method: that the path has no such one is a refusal that the page is to read.
  private func options(
    _ call: Call,
    _ methods: [Method],
    _ served: ServedWire,
    _ origin: String?
  ) async -> Response {
    var response = Response(.noContent)
    response.add(.allow, Self.text(of: methods + [.options]))
    response.add(.vary, literal: "Origin")
    // The app is named in the request proper, where its own origins are looked at.
    if let origin, await call.context.apps.allows(origin: origin) {
      let methods = Self.text(of: Self.allMethods)
      served.crossOrigin.permit(origin, methods: methods, in: &response)
    }
    return response
  }

  private static func text(of methods: [Method]) -> String {
    methods.map(\.rawValue).joined(separator: ", ")
  }

  /// The wire that has the most of a path, or else the first.
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
