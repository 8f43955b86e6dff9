package import EventLoop
package import HTTP
package import Runtime
import Sessions
import Tenancy

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
    Call(request, body, dependencies, by: nil)
  }

  /// Creates the state of a request that the operator makes in this process.
  ///
  /// It may use the routes of the operator and of API clients, without a secret. Only the command line
  /// creates such calls.
  /// - Parameters:
  ///   - request: the request.
  ///   - body: its body.
  ///   - person: the person who makes it; nil if unknown.
  /// - Returns: the state.
  package func operatorCall(
    _ request: Request, _ body: any BodySource, by person: CommandLinePerson? = nil
  ) -> Call {
    Call(request, body, dependencies, by: .operator(person))
  }

  /// Creates the state of a request that an administrator makes in this process.
  ///
  /// It may use the routes of the operator and of API clients whose right the administrator has, in the
  /// apps of the administrator. Only the console creates such calls, for a live session.
  package func administratorCall(
    _ request: Request, _ body: any BodySource, _ administrator: Administrator
  ) -> Call {
    Call(request, body, dependencies, by: .administrator(administrator))
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
      try readPreconditions(of: call, endpoint)
      if endpoint.takesBody {
        call.body = try await body(of: call, endpoint.route.body)
      }
      if endpoint.isPost, call.request.has(.idempotencyKey) {
        response = try await once(call, endpoint.route)
      } else {
        response = try await endpoint.route.handler(call)
      }
      if let part = endpoint.route.viewed, call.context.principal.administrator != nil {
        try await Audit.recordView(of: part, of: call.user, call.context)
      }
      assert(
        !response.isSentOnce || !endpoint.route.keepsAnswers,
        "\(endpoint.route.name) must declare that it issues secrets"
      )
      if call.preconditions.arePresent {
        response = try conditional(response, call, endpoint.route)
      }
    } catch {
      response = self.response(to: error, of: call, endpoint.served)
      if error.is(.mediaType), endpoint.route.body.mediaTypes.contains(.mergePatch) {
        let types = endpoint.route.body.mediaTypes.map(\.rawValue)
        response.add(.acceptPatch, types.joined(separator: ", "))
      }
    }
    // Breaks the reference cycle of the call and its context.
    call.context.owner = nil
    response.add(call.context.notedLimits)
    endpoint.served.addCounters(to: &response, of: call)
    response.add(line: Self.vary(call.failure))
    if endpoint.route.isCrossOrigin, let origin = call.request.field(.origin),
      let access = await access(of: origin, call)
    {
      endpoint.served.crossOrigin.permit(origin, access, in: &response)
    }
    guard response.headLength <= Self.longestHead else {
      return await fail(call, Failure.uriTooLong)
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
    // The app only decides which pages may read the error, and how a page of it looks.
    if call.request.wantsPage {
      call.app = try? await app(of: call, speaker(to: call, served))
    } else if origin != nil {
      call.app = try? await app(of: call, served)
    }
    var response = self.response(to: failure, of: call, served)
    if failure.is(.routeNotFound), call.request.wantsPage,
      let page = await served.wire.pageOfUnknownPath(call)
    {
      response = page
    }
    served.addCounters(to: &response, of: call)
    if let methods { response.add(.allow, Self.text(of: methods + [.options])) }
    response.add(line: Self.vary(call.failure))
    if let origin, let access = await access(of: origin, call) {
      served.crossOrigin.permit(origin, access, in: &response)
    }
    return response
  }

  /// Returns the wire's response for an error, and records the error for the log.
  private func response(
    to failure: Failure, of call: Call, _ served: ServedWire
  ) -> Response {
    call.failure = failure
    let isUnknown = failure.is(.routeNotFound)
    let speaker = isUnknown ? speaker(to: call, served) : served
    var response = speaker.wire.response(to: failure, of: call)
    if let time = failure.retryAfter { response.add(.retryAfter, String(time.wholeSeconds)) }
    return response
  }

  /// The field for caches: a page of another origin gets further fields, and an unknown path has a
  /// page for browsers.
  private static func vary(_ failure: Failure?) -> StaticString {
    failure?.is(.routeNotFound) == true ? "Vary: Origin, Accept\r\n" : "Vary: Origin\r\n"
  }

  /// Returns the wire that reports an unknown path: to browsers by a page, to programs by a problem.
  private func speaker(to call: Call, _ served: ServedWire) -> ServedWire {
    let path = call.request.path
    guard call.request.wantsPage else {
      return served.wire.showsPages(at: path) ? wires[0] : served
    }
    return wires.first { $0.wire.showsPages(at: "/") } ?? served
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
      return self.response(to: error, of: call, served)
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

extension Service {
  /// Reads the body by the rule of its route.
  func body(of call: Call, _ rule: BodyRule) async throws(Failure) -> Body {
    let field = call.request.field(.contentType)
    // Most clients send exactly one of these names. Only other texts are parsed.
    let known = field.flatMap { rule.format(of: MediaType(rawValue: $0)) }
    let type = known == nil ? field.flatMap { FieldParameters($0) } : nil
    let format =
      field == nil ? rule.assumed : known ?? type.flatMap(MediaType.init).flatMap(rule.format)
    guard let format else {
      // An absent body needs no type.
      guard field == nil, rule.isOptional else { throw .mediaType(accepted: rule.mediaTypes) }
      guard try await call.bodySource.body(limit: rule.limit).isEmpty else {
        throw .mediaType(accepted: rule.mediaTypes)
      }
      return .none
    }
    let bytes = try await call.bodySource.body(limit: rule.limit)
    if rule.isOptional, bytes.isEmpty { return .none }
    if case .bytes = format { return .bytes(bytes) }
    let boundary = type.flatMap(Multipart.boundary)
    return try await call.context.calculate(on: bytes.count) { () throws(Failure) in
      try Body.read(bytes, as: format, by: rule, boundary: boundary)
    }
  }
}

extension Service {
  /// Finds the device secret of a request, and whether a cookie holds it or will hold it.
  ///
  /// A browser also sends cookies with requests that another site caused. So the origin of the page
  /// must be allowed.
  func findDevice(_ call: Call, _ served: ServedWire) throws(Failure) {
    guard let field = served.deviceField else { return }
    let request = call.request
    let shown = request.field(field)
    if let shown, shown != DeviceCookie.wish {
      guard let proof = DeviceCredential(shown, call.context) else { throw .deviceUnknown }
      call.context.device = proof
      return
    }
    // A login replaces a cookie that is no longer valid.
    let device = DeviceCookie.value(in: request, of: call.app).flatMap {
      DeviceCredential($0, isCookie: true, call.context)
    }
    guard shown != nil || device != nil else { return }
    let changes = request.method != .get && request.method != .head
    if changes,
      request.field(.origin).flatMap({ call.app?.browserSettings.allows(origin: $0) }) != true
    {
      throw .originForbidden
    }
    call.context.device = device
    call.usesCookie = true
  }
}

extension Call {
  /// Whether scripts of a page must not receive the refresh token.
  ///
  /// This also holds if a user's token was sufficient and the device was not looked up.
  package var isOfBrowser: Bool {
    if usesCookie { return true }
    guard isByToken, let field = endpoint?.served.deviceField else {
      return false
    }
    return request.field(field) == DeviceCookie.wish
      || DeviceCookie.value(in: request, of: app) != nil
  }

  /// Returns whether a request contains a device secret, valid or not.
  func showsDevice(_ served: ServedWire) -> Bool {
    guard let field = served.deviceField else { return false }
    // A cookie of any app counts, since the app is not known yet.
    return request.has(field)
      || Cookie.has(nameBeginning: DeviceCookie.name, in: request.field(.cookie))
  }
}

/// The cookie in which a browser keeps its device secret.
package enum DeviceCookie {
  /// The prefix of every cookie name, and the whole name of older cookies.
  ///
  /// Older cookies date from before each app had its own name. They are valid until a login
  /// replaces them.
  package static let name = "__Host-dossier-device"
  /// The value of a wire's `deviceField` with which a login asks for a cookie.
  package static let wish = "cookie"

  /// Returns the cookie name of an app.
  ///
  /// Browsers keep cookies by host, and one host may serve several apps. So each app has its own
  /// name.
  package static func name(of app: AppID) -> String { "\(name)-\(app)" }

  static func value(in request: Request, of app: App?) -> String? {
    guard let app, let field = request.field(.cookie) else { return nil }
    return Cookie.value(of: name(of: app.id), in: field) ?? Cookie.value(of: name, in: field)
  }
}

extension Call {
  /// Adds a cookie with the device secret, which replaces the cookie that the browser sent.
  package func set(deviceCookie secret: String, in response: inout Response) throws(Failure) {
    let app = context.app
    let name = DeviceCookie.name(of: app.id)
    let sameSite = app.browserSettings.deviceCookieSameSite
    let lifetime = Cookie.longestLifetime
    response.add(.setCookie, Cookie.setting(name, to: secret, for: lifetime, sameSite))
    // The browser may still have a cookie from before the app changed its `SameSite` setting.
    guard Cookie.value(of: name, in: request.field(.cookie)) != nil else { return }
    response.add(.setCookie, Cookie.clearing(name, besides: sameSite))
  }
}

/// The preconditions of all routes.
///
/// They are tested here against the response, or, for a write of a versioned resource, in the
/// statement that writes.
/// - Source: RFC 9110 section 13.
extension Service {
  /// Reads the preconditions of a request, and refuses those that a resource without versions
  /// cannot meet.
  ///
  /// Such a resource matches no entity tag, and its existence cannot be ruled out.
  func readPreconditions(of call: Call, _ endpoint: Endpoint) throws(Failure) {
    guard call.request.has(.ifMatch) || call.request.has(.ifNoneMatch) else { return }
    let preconditions: Preconditions
    do throws(TagSyntaxError) {
      preconditions = try Preconditions(call.request)
    } catch {
      throw .conditionMalformed
    }
    call.preconditions = preconditions
    let route = endpoint.route
    guard !route.isVersioned, route.method != .get else { return }
    if case .versions = preconditions.match { throw .unversioned }
    // The path of a POST does not name the resource that it creates.
    if preconditions.noneMatch == .any, route.method != .post { throw .unversioned }
  }

  /// Returns the response after the preconditions have been applied to it.
  func conditional(_ response: Response, _ call: Call, _ route: Route) throws(Failure) -> Response {
    guard route.method == .get else {
      assert(!route.isVersioned || call.conditionIsTaken, "\(route.name) forgets its preconditions")
      return response
    }
    guard response.status == .ok else { return response }
    let version = response[.entityTag].flatMap(EntityTag.init)?.version
    if case .versions(let versions) = call.preconditions.match {
      guard let version else { throw .unversioned }
      guard versions.contains(version) else { throw .preconditionFailed(current: version) }
    }
    // The resource exists, since the handler returned it.
    guard call.preconditions.noneMatch == .any || call.preconditions.noneMatch.matches(version)
    else { return response }
    var unchanged = Response(.notModified)
    for name in [FieldName.entityTag, .cacheControl] {
      if let value = response[name] { unchanged.add(name, value) }
    }
    return unchanged
  }
}

extension Call {
  /// The version condition of a write.
  package var condition: VersionCondition {
    get throws(Failure) {
      conditionIsTaken = true
      var condition = VersionCondition()
      switch preconditions.match {
      case .absent: break
      case .any: condition.mustExist = true
      case .versions(let versions): condition.oneOf = versions
      }
      switch preconditions.noneMatch {
      case .absent: break
      case .any: condition.mustNotExist = true
      case .versions:
        throw .invalid([
          FieldError("", "condition", "If-None-Match must be * for a write; use If-Match.")
        ])
      }
      return condition
    }
  }
}
