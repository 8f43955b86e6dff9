import Accounts
import Encoding
import EventLoop
import Federation
import HTTP
import HostedPages
import JSON
import OpenID
import OpenIDClient
import Pages
import Records
import Runtime
import Sessions
import Tenancy
import WireKit

/// The sign-in by the page of a provider, which realm-web opens in a window of its own.
///
/// The result returns to a page of the app, in the fragment of its URL.
/// - Source: `Authenticator.ts` and `OAuth2Helper.ts` of realm-web.
@EventLoop enum RedirectRoutes {
  private nonisolated static let base =
    "\(AppServicesWire.appPrefix)/auth/providers/{provider}"
  private nonisolated static let ticket = "ticket"
  /// The flow of the form that confirms a link.
  private nonisolated static let linkFlow = "app services link"

  nonisolated static let routes = [
    Route(
      .get, "\(base)/login", access: .open,
      summary: "Send the browser to a provider, or return the URL at which the user links"
    ) { (call) async throws(Failure) in
      try await shown(call) { () async throws(Failure) in try await start(call) }
    },
    Route(
      .post, "\(base)/link", access: .open, body: .form, isCrossOrigin: false,
      summary: "Send the browser of a user who links to a provider"
    ) { (call) async throws(Failure) in
      try await shown(call) { () async throws(Failure) in try await link(call) }
    },
    Route(
      .get, "\(base)/connected", access: .open, isCrossOrigin: false,
      summary: "Sign in by the response of a provider"
    ) { (call) async throws(Failure) in
      try await shown(call) { () async throws(Failure) in try await finish(call) }
    },
  ]

  /// Shows a page for a redirect whose result no page of the app can get.
  private static func shown(
    _ call: Call, _ work: @EventLoop () async throws(Failure) -> Response
  ) async throws(Failure) -> Response {
    do throws(Failure) { return try await work() } catch {
      switch error {
      case .redirectStateInvalid, .formForged, .cookiesNeeded: break
      default: throw error
      }
      call.failure = error
      return call.response(with: .expired(restart: nil), .badRequest)
    }
  }

  // MARK: The start

  private static func start(_ call: Call) async throws(Failure) -> Response {
    let (context, name) = (call.context, call.text("provider"))
    guard let provider = Provider(rawValue: name),
      let connection = provider.connection(in: context.app)
    else { return ServiceError.noProvider(name).response(to: call) }
    guard let query = FormValues(call.request.query), query.repeated.isEmpty else {
      return ServiceError.badRequest("the query cannot be read").response(to: call)
    }
    guard try await leadsBack(call) else {
      return ServiceError.badRequest(
        "the redirect would not find the app at this host; add a host to the app, and use it as baseUrl"
      ).response(to: call)
    }
    if let text = query[ticket] { return try await ask(text, connection, call) }
    let redirect = query["redirect"] ?? ""
    guard connection.appServicesRedirects.contains(where: redirect.hasSameBytes) else {
      return call.response(
        with: .unregisteredRedirect(client: context.app.name, uri: redirect.excerpt(400)),
        .badRequest)
    }
    let state = query["state"] ?? ""
    guard state.utf8.count <= Errand.longestState, state.utf8.allSatisfy(\.isVisible) else {
      return ServiceError.badRequest(
        "state must have at most \(Errand.longestState) printable ASCII characters"
      ).response(to: call)
    }
    guard query["link"] == "true" else {
      let errand = Errand(redirect, state, device: device(in: query["device"]))
      return await self.redirect(errand, to: connection, call)
    }
    let user = try await LoginRoutes.linkingUser(call)
    if let refusal = LoginRoutes.linkRefusal(call) { return refusal.response(to: call) }
    guard let session = context.principal.session, let device = context.principal.device else {
      throw .sessionEnded
    }
    let errand = Errand(redirect, state, device: device, of: (user, session))
    let text = try await LinkTicket.issue(errand.json(context), to: user, context)
    // Browsers drop the cookies of another site, so this response cannot begin the redirect.
    var response = Response(.ok, json: Array("{}".utf8))
    response.add(.serviceLocation, "\(call.origin)\(call.request.path)?\(ticket)=\(text)")
    return response
  }

  /// Asks the user of a ticket before the link.
  ///
  /// The client has opened this page by a URL, which a stranger could have sent to another person.
  private static func ask(
    _ text: String, _ connection: Connection, _ call: Call
  ) async throws(Failure) -> Response {
    let context = call.context
    guard let content = LinkTicket.content(of: text, context),
      let errand = Errand(content, of: connection, context), let device = errand.device,
      let (user, session) = errand.link, let path = LocalPath("\(folder(of: call))/link")
    else { throw .redirectStateInvalid }
    context.principal = Principal(user, session, device, in: context.app.id, scopes: .user)
    let profile: Profile
    do throws(Failure) { profile = try await Profiles.read(of: user, context) } catch .sessionEnded
    {
      throw .redirectStateInvalid
    }
    let person = Person(
      name: profile.name, email: profile.email, picture: call.image(profile.picture))
    let target = call.target(path, of: linkFlow, [HiddenField(ticket, text)])
    return call.response(with: .linkIdentity(target, issuer: connection.label, to: person))
  }

  /// Sends the browser of the user to the provider.
  private static func link(_ call: Call) async throws(Failure) -> Response {
    let form = try call.form(of: linkFlow)
    let context = call.context
    guard let provider = Provider(rawValue: call.text("provider")),
      let connection = provider.connection(in: context.app),
      let content = try await LinkTicket.use(form[ticket] ?? "", context),
      let errand = Errand(content, of: connection, context)
    else { throw .redirectStateInvalid }
    return await redirect(errand, to: connection, call)
  }

  /// Returns the path of a request without its last part.
  private static func folder(of call: Call) -> String {
    call.request.path.split(separator: "/").dropLast().map { "/\($0)" }.joined()
  }

  /// Returns whether the redirect URI of connections, which names no app, is one of the app.
  private static func leadsBack(_ call: Call) async throws(Failure) -> Bool {
    do throws(Failure) {
      let found = try await call.context.apps.app(named: nil, host: call.request.field(.host))
      return found.id == call.context.app.id
    } catch .unknownApp {
      return false
    }
  }

  /// Returns the device that an earlier sign-in gave the client.
  ///
  /// - Parameter text: the description of the device, as JSON in base64.
  /// - Returns: the device; nil if the client has none.
  private static func device(in text: String?) -> DeviceID? {
    guard let text, text.utf8.count <= 4_096, let bytes = [UInt8](paddedBase64: text),
      let device = try? JSON.parse(bytes)
    else { return nil }
    return LoginRoutes.device(device)
  }

  private static func redirect(
    _ errand: Errand, to connection: Connection, _ call: Call
  ) async -> Response {
    do throws(Failure) {
      let state = RedirectState(
        connection, to: "\(folder(of: call))/connected",
        note: JSON.object(errand.json(call.context)).text)
      var wishes = Redirects.Wishes()
      wishes.choosesAccount = errand.link != nil
      let url = try await Redirects.url(
        at: connection, state, in: call.browser.key.text, of: call.issuer, wishes, call.context)
      errand.begin(call)
      guard call.request.method == .post, let destination = Destination(url: url) else {
        return call.redirect(toService: url)
      }
      return call.response(with: .handOver(to: destination, client: connection.label))
    } catch {
      return errand.response(to: error, call)
    }
  }

  // MARK: The response

  private static func finish(_ call: Call) async throws(Failure) -> Response {
    let context = call.context
    guard let text = FormValues(call.request.query)?[RedirectResponse.parameter] else {
      throw .redirectStateInvalid
    }
    let response = try RedirectResponse(text, at: String(call.request.path), context)
    guard let connection = context.app.connections.named(response.state.connection),
      let note = try? JSON.parse(Array(response.state.note.utf8)).object,
      let errand = Errand(note, of: connection, context)
    else { throw .redirectStateInvalid }
    do throws(Failure) {
      guard errand.end(call) else { throw .redirectStateInvalid }
      let account = try await Redirects.account(
        from: response, in: call.knownBrowser?.text, of: call.issuer, context)
      guard let account else {
        return errand.response([("_baas_error", "the user has cancelled the sign-in")], call)
      }
      let tokens = try await tokens(of: account, errand, call)
      let device = context.principal.device?.text ?? ""
      let user = context.principal.user?.text ?? ""
      return errand.response(
        [
          ("_baas_client_app_id", context.app.name),
          ("_baas_ua", "\(tokens.access)$\(tokens.refresh)$\(user)$\(device)"),
        ], call)
    } catch {
      return errand.response(to: error, call)
    }
  }

  /// Signs in, or links the account, and returns the tokens of the session.
  private static func tokens(
    of account: ConnectedAccount, _ errand: Errand, _ call: Call
  ) async throws(Failure) -> (access: String, refresh: String) {
    let context = call.context
    guard let (user, session) = errand.link, let device = errand.device else {
      context.bareDevice = UnauthenticatedDevice(named: errand.device)
      let tokens = try await account.signIn(as: .appServices, context).tokens(context)
      return (tokens.accessToken, tokens.refreshToken)
    }
    context.principal = Principal(user, session, device, in: context.app.id, scopes: .user)
    try await UserOrigins.note(anonymous: user, context)
    _ = try await account.link(to: user, as: nil, context)
    return (
      try await Sessions.accessToken(as: .appServices, context),
      Sessions.signedRefreshToken(as: .appServices, context) ?? ""
    )
  }
}

/// The purpose of a redirect to a provider, and the page that gets its result.
@EventLoop private struct Errand {
  /// The page of the app that gets the result.
  let redirect: String
  /// A text of the client by which its window knows the result; empty if it has sent none.
  let state: String
  let device: DeviceID?
  /// The user who links, and the session; nil for a sign-in.
  let link: (user: UserID, session: SessionID)?
  private let id: String

  nonisolated static let longestState = 256
  /// How many redirects of one browser may be under way.
  private static let most = 4
  /// Longer URLs go by a page: the web server limits the header fields of a response.
  private static let longestField = 8_192

  init(
    _ redirect: String, _ state: String, device: DeviceID?, of link: (UserID, SessionID)? = nil
  ) {
    (self.redirect, self.state, self.device, self.link) = (redirect, state, device, link)
    id = Credential.salt().base64URL
  }

  /// Reads it; nil if the connection does not list its page any more.
  init?(_ json: JSONObject, of connection: Connection, _ context: RequestContext) {
    guard let mark = json["redirect"]?.string, let id = json["id"]?.string,
      let redirect = connection.appServicesRedirects.first(where: {
        Self.mark(of: $0, context).hasSameBytes(as: mark)
      })
    else { return nil }
    (self.redirect, self.id) = (redirect, id)
    state = json["state"]?.string ?? ""
    device = json["device"]?.string.flatMap { DeviceID($0) }
    let user = json["user"]?.string.flatMap { UserID($0) }
    let session = json["session"]?.string.flatMap { SessionID($0) }
    if let user, let session { link = (user, session) } else { link = nil }
  }

  func json(_ context: RequestContext) -> JSONObject {
    var json = JSONObject()
    json["id"] = .string(id)
    json["redirect"] = .string(Self.mark(of: redirect, context))
    json["state"] = .string(state)
    json["device"] = device.map { .string($0.text) }
    json["user"] = link.map { .string($0.user.text) }
    json["session"] = link.map { .string($0.session.text) }
    return json
  }

  /// Returns a short text that stands for a page, since the `state` of a redirect has a limit.
  private static func mark(of redirect: String, _ context: RequestContext) -> String {
    context.keys.master.mark(of: Array("app services redirect \(redirect)".utf8), by: 0).base64URL
  }

  // MARK: The browser

  private func begun(_ call: Call) -> [Substring] {
    (BrowserNote.redirects.text(call) ?? "").split(separator: " ")
  }

  /// Notes in the browser that it has begun.
  func begin(_ call: Call) {
    let ids = ([id[...]] + begun(call)).prefix(Self.most)
    BrowserNote.redirects.keep(ids.joined(separator: " "), call)
  }

  /// Returns whether this browser has begun it, and not ended it before.
  func end(_ call: Call) -> Bool {
    let ids = begun(call)
    let others = ids.filter { !$0.utf8.elementsEqual(id.utf8) }
    guard others.count < ids.count else { return false }
    BrowserNote.redirects.keep(others.isEmpty ? nil : others.joined(separator: " "), call)
    return true
  }

  // MARK: The result

  /// Returns the response that tells a failure to the page of the app.
  ///
  /// Without the state, the window that waits would not get it.
  func response(to failure: Failure, _ call: Call) -> Response {
    call.failure = failure
    return response([("_baas_error", ServiceError(failure, of: call).text)], call)
  }

  /// Returns the response that sends the browser to the page of the app.
  ///
  /// The client splits at each `=` and `&`, so all values are percent-encoded.
  func response(_ result: [(name: String, value: String)], _ call: Call) -> Response {
    let pairs = (result + [("_baas_state", state)]).map { name, value in
      "\(name)=\(PercentCoding.encode(value))"
    }
    let url = "\(redirect)#\(pairs.joined(separator: "&"))"
    let target = RedirectTarget(redirect)
    if url.utf8.count > Self.longestField, let destination = Destination(url, of: target) {
      return call.response(with: .handOver(to: destination))
    }
    var response = Response(.found, redirectingTo: url)
    response.add(.referrerPolicy, literal: "no-referrer")
    call.keepBrowser(in: &response)
    return response
  }
}

extension FieldName {
  /// The URL to which the client of a link sends the browser.
  static let serviceLocation = FieldName("X-Baas-Location")
}
