import Records
import AccountPages
import Delivery
import Encoding
import EventLoop
import Federation
import HostedPages
import HTTP
import JSON
import Localization
import OpenID
import Pages
import Runtime
import Sessions
import Tenancy
import WireKit

/// `/oidc/logout`, where a client signs the user of the browser out.
///
/// - Source: OpenID Connect RP-Initiated Logout 1.0.
@EventLoop enum LogoutRoutes {
  private nonisolated static let path = "/oidc/logout"
  private nonisolated static let confirmPath = "/oidc/logout/confirm"
  nonisolated static let donePath = "/\(Redirects.signedOutPath)"

  nonisolated static let routes = [
    Route(
      .get, path, access: .open, isCrossOrigin: false, summary: "Sign the user of the browser out",
      begin
    ),
    Route(
      .post, path, access: .open, body: .form, isCrossOrigin: false,
      summary: "Sign the user of the browser out, with the parameters in the body", begin
    ),
    Route(
      .post, confirmPath, access: .open, body: .form, isCrossOrigin: false,
      summary: "Sign out, after the user has agreed", confirm
    ),
    Route(
      .get, donePath, access: .open, isCrossOrigin: false,
      summary: "Show that the user is signed out, or lead on after a sign-out at another service"
    ) { (call) async throws(Failure) in
      if let url = PageState(of: call).values[.afterSignOut], !url.isEmpty {
        return Response(.found, redirectingTo: url)
      }
      return try await call.signedOut()
    },
  ]

  /// Signs out at once if the request names a user of the browser, by an ID token or a session.
  ///
  /// Without a name, any page could send the request, so the user is asked.
  private static func begin(_ call: Call) async throws(Failure) -> Response {
    if call.request.method == .post { return try call.redirectToQuery(path) }
    try call.request.refuseFetchAhead()
    let request = try await LogoutRequest(call.parameters(), call)
    call.findSignInDevice()
    if let user = try await request.user(call) {
      try await Devices.logout(user, next: .none, call.context)
      return try ending(request, call, afterForm: false)
    }
    guard let leaving = try await Leaving.unnamed(call) else {
      return try ending(request, call, afterForm: false)
    }
    return leaving.question(
      LocalPath(checked: confirmPath), of: path, request.fields, call, locales: request.locales
    )
  }

  private static func confirm(_ call: Call) async throws(Failure) -> Response {
    let form = try call.form(of: path)
    let request = try await LogoutRequest(form, call)
    call.findSignInDevice()
    if form.declinesSignOut {
      if request.target == nil { return call.redirect(to: .account) }
    } else {
      try await Leaving.unnamed(call)?.signOut(call)
    }
    return try ending(request, call, afterForm: true)
  }

  private static func ending(
    _ request: LogoutRequest, _ call: Call, afterForm: Bool
  ) throws(Failure) -> Response {
    try call.signedOut(by: request.client, to: request.target, afterForm: afterForm)
  }
}

/// The parameters of a sign-out.
private struct LogoutRequest {
  private let hint: AccessTokens.Identity?
  /// The session of the client, its `sid`.
  private let session: SessionID?
  /// The id of the client, which may not exist; nil if none is named.
  let client: String?
  /// Where the browser goes, with the client's state; nil for our page.
  let target: String?
  let locales: [String]
  /// The parameters that a form carries on.
  let fields: [HiddenField]

  private static let carried = [
    "id_token_hint", "logout_hint", "client_id", "post_logout_redirect_uri", "state", "ui_locales",
  ]

  /// Returns the user whom the request names, if the browser knows the user.
  @EventLoop func user(_ call: Call) async throws(Failure) -> UserID? {
    guard hint != nil || session != nil else { return nil }
    let users = try await call.usersOfBrowser().map(\.user)
    if let hint { return users.first { $0 == hint.user } }
    guard let session else { return nil }
    let id = client.flatMap { ClientID($0) }
    guard client == nil || id != nil else { return nil }
    return try await BrowserUsers.user(ofClientSession: session, of: id, among: users, call.context)
  }

  /// A client that has not registered where to go gets no redirect, and its user is signed out.
  ///
  /// - Throws: `.unknownApplication` for an unknown client, or another than that of the ID token.
  /// - Source: OpenID Connect RP-Initiated Logout 1.0 sections 2 and 3.
  @EventLoop init(_ values: FormValues, _ call: Call) async throws(Failure) {
    let context = call.context
    let token = values["id_token_hint"] ?? ""
    hint =
      token.isEmpty
      ? nil
      : try await context.tokens.identity(of: token, app: context.app.id, issuer: call.issuer)
    locales = (values["ui_locales"] ?? "").excerpt(200).split(separator: " ").map(String.init)
    fields = Self.carried.compactMap { name in values[name].map { HiddenField(name, $0) } }
    session = values["logout_hint"].flatMap { SessionID($0) }
    let named = values["client_id"] ?? ""
    // A token of one client must not end a session at the wish of another.
    if let hint, !named.isEmpty, !hint.client.hasSameBytes(as: named) { throw .unknownApplication }
    client = named.isEmpty ? hint?.client : named
    guard let wanted = values["post_logout_redirect_uri"], !wanted.isEmpty else {
      target = nil
      return
    }
    if let client {
      guard let id = ClientID(client),
        let client = try await Clients.client(id, of: context.app.id, context)
      else { throw .unknownApplication }
      guard client.settings.logoutURLs.contains(where: { ClientURL.matches($0, wanted) }) else {
        context.remark(onRefused: wanted, of: client)
        target = nil
        return
      }
    } else if try await !LogoutURLs.allow(wanted, of: nil, context) {
      context.remark(onRefused: wanted, of: nil)
      target = nil
      return
    }
    guard let state = values["state"], !state.isEmpty,
      state.utf8.count <= AuthorizationParameters.longest
    else {
      target = wanted
      return
    }
    target = RedirectTarget(wanted).url(with: [("state", state)])
  }
}

extension Call {
  /// Returns a redirect to the same parameters in a query.
  ///
  /// Browsers send no cookies with a form of another site, but with the request that follows.
  /// - Throws: `.formMalformed`.
  func redirectToQuery(_ path: String) throws(Failure) -> Response {
    let form = try parameters()
    let pairs = form.pairs.map { name, value in
      "\(PercentCoding.encode(name))=\(PercentCoding.encode(value))"
    }
    return redirect(to: LocalPath(checked: "\(path)?\(pairs.joined(separator: "&"))"))
  }

  /// The parameters of the query, or of the form in the body.
  ///
  /// - Throws: `.formMalformed`.
  func parameters(
    repeating repetition: FormValues.Repetition = .none
  ) throws(Failure) -> FormValues {
    if case .form(let form) = body { return form }
    guard let query = FormValues(request.query, repeating: repetition) else {
      throw .formMalformed
    }
    return query
  }
}

/// `/v2/logout`, where Auth0's SDKs sign the user of the browser out.
///
/// These SDKs expect no page and send no proof. A client that has a session in this browser signs its
/// user out at once. Any other request could be made by any site, so the user is asked.
@EventLoop enum DirectLogoutRoutes {
  private nonisolated static let path = "/v2/logout"
  private nonisolated static let confirmPath = "/v2/logout/confirm"

  nonisolated static let routes = [
    Route(
      .get, path, access: .open, isCrossOrigin: false,
      summary: "Sign the user of a client out, without a question if it has a session here", begin
    ),
    Route(
      .post, confirmPath, access: .open, body: .form, isCrossOrigin: false,
      summary: "Sign out, after the user has agreed", confirm
    ),
  ]

  private static func begin(_ call: Call) async throws(Failure) -> Response {
    try call.request.refuseFetchAhead()
    let request = try await DirectLogoutRequest(call.parameters(), call.context)
    call.findSignInDevice()
    guard let (leaving, isProven) = try await leaving(request, call) else {
      return try await request.ending(call, afterForm: false)
    }
    let settings = call.context.app.settings[SignOutSettings.self]
    guard isProven, !settings.alwaysAsks, call.request.isNavigation else {
      return leaving.question(LocalPath(checked: confirmPath), of: path, request.fields, call)
    }
    try await leaving.signOut(call)
    return try await request.ending(call, afterForm: false)
  }

  private static func confirm(_ call: Call) async throws(Failure) -> Response {
    let form = try call.form(of: path)
    let request = try await DirectLogoutRequest(form, call.context)
    call.findSignInDevice()
    if form.declinesSignOut {
      if request.target == nil { return call.redirect(to: .account) }
    } else {
      try await leaving(request, call)?.leaving.signOut(call)
    }
    return try await request.ending(call, afterForm: true)
  }

  /// Returns whom a request signs out, and whether its client has a session of the user here.
  ///
  /// That is the user of the client's newest session in the browser. If both have ended, another tab
  /// was first: another user of the browser stays.
  /// - Returns: nil if no user has a session that would end.
  private static func leaving(
    _ request: DirectLogoutRequest, _ call: Call
  ) async throws(Failure) -> (leaving: Leaving, isProven: Bool)? {
    if let client = request.client {
      let users = try await call.usersOfBrowser()
      let newest = try await BrowserUsers.newestSession(
        of: client.id, among: users.map(\.user), call.context
      )
      if let newest, let user = users.first(where: { $0.user == newest.user }) {
        return try await Leaving.named(user, call).map { ($0, newest.isInUse) }
      }
    }
    return try await Leaving.unnamed(call).map { ($0, false) }
  }
}

/// The parameters of a sign-out at `/v2/logout`.
private struct DirectLogoutRequest {
  /// Nil if none is named.
  let client: Client?
  /// The URL to which the browser goes; nil for our page.
  let target: String?
  /// Whether the user signs out of the other service too.
  private let isFederated: Bool
  /// The parameters that a form carries on.
  let fields: [HiddenField]

  /// A URL that is not registered gets no redirect, and the user is signed out all the same.
  ///
  /// - Throws: `.unknownApplication`, `.databaseUnavailable`.
  @EventLoop init(_ values: FormValues, _ context: RequestContext) async throws(Failure) {
    fields = ["client_id", "returnTo", "federated"].compactMap { name in
      values[name].map { HiddenField(name, $0) }
    }
    isFederated = values["federated"] != nil
    let (wanted, id) = (values["returnTo"] ?? "", values["client_id"] ?? "")
    if id.isEmpty {
      client = nil
    } else {
      guard let known = ClientID(id),
        let found = try await Clients.client(known, of: context.app.id, context)
      else { throw .unknownApplication }
      client = found
    }
    guard !wanted.isEmpty else {
      target = client?.settings.logoutPage
      return
    }
    // Without a client, the URL may be that of any client of the app.
    guard try await LogoutURLs.allow(wanted, of: client, context) else {
      context.remark(onRefused: wanted, of: client)
      target = nil
      return
    }
    target = wanted
  }

  @EventLoop func ending(_ call: Call, afterForm: Bool) async throws(Failure) -> Response {
    let target = try await serviceURL(call) ?? target
    return try call.signedOut(by: client?.id.text, to: target, afterForm: afterForm)
  }

  /// Returns the URL at which the user signs out of the service that the browser has used last.
  ///
  /// It then returns to `LogoutRoutes.donePath`, which leads on to the target. It is nil without a
  /// service, or if the service has no such URL.
  @EventLoop private func serviceURL(_ call: Call) async throws(Failure) -> String? {
    guard isFederated, let name = BrowserNote.connection.text(call),
      let connection = call.context.app.connections.named(name)
    else { return nil }
    var state = PageState(values: [.afterSignOut: target ?? ""])
    state.values[.client] = client?.id.text
    return try await Redirects.signOutURL(
      at: connection,
      state.text(
        for: LocalPath(checked: LogoutRoutes.donePath), call, call.context.principal.user),
      of: call.issuer, call.context)
  }
}

extension RequestContext {
  /// Tells the log why a sign-out does not lead back to its client, and the setting that allows it.
  ///
  /// - Parameters:
  ///   - url: the refused URL, of which the log gets no query.
  ///   - client: the client of the request; nil if none is named.
  @EventLoop fileprivate func remark(onRefused url: String, of client: Client?) {
    let page = url.prefix { $0 != "?" && $0 != "#" }
    let owner = client.map { "the client \($0.id)" } ?? "a client"
    remark =
      "the sign-out does not lead to \(String(page).excerpt(200)): "
      + "it must be one of the logout_urls of \(owner)"
  }
}

extension Request {
  /// Whether the browser opens the response as a page, as far as it says so.
  ///
  /// An image, a frame or a script of another page could otherwise send the request unnoticed.
  /// Cookies go with these if both pages share a site.
  /// - Source: W3C Fetch Metadata Request Headers section 2.
  fileprivate var isNavigation: Bool {
    field(.fetchDestination)?.hasSameBytes(as: "document") != false
  }

  /// Refuses a request by which the browser fetches a link ahead, before its user follows it.
  ///
  /// It drops the response of an error, and sends the request again once the user follows the link.
  /// - Throws: `.fetchedAhead`.
  fileprivate func refuseFetchAhead() throws(Failure) {
    guard !FieldName.purposes.contains(where: has) else { throw .fetchedAhead }
  }
}

extension Failure {
  fileprivate static let fetchedAhead = Failure("fetched_ahead", .forbidden)
    .titled("The browser has fetched this page ahead, and it has an effect.")
    .remedied("Open the page.")
}

extension FieldName {
  /// The use that the browser makes of the response.
  static let fetchDestination = FieldName("Sec-Fetch-Dest")
  /// Present if the browser fetches ahead: one of them, by its kind and age.
  static let purposes = ["Sec-Purpose", "Purpose", "X-Purpose", "X-Moz"].map { FieldName($0) }
}

/// The user of a sign-out that a client asks for without proof.
@EventLoop struct Leaving {
  /// Nil for all users of the browser, whose sessions at clients have outlived those at the pages.
  private let user: UserID?
  private let person: Person?

  /// Returns the user of a request that names none: the active user, or else the first.
  ///
  /// - Returns: nil if no user has a session that would end.
  /// - Throws: `.databaseUnavailable`.
  static func unnamed(_ call: Call) async throws(Failure) -> Leaving? {
    let users = try await BrowserUsers.all(call.context)
    if let user = users.first(where: \.isActive) ?? users.first {
      return Leaving(user: user.user, person: call.person(user))
    }
    let known = try await call.usersOfBrowser().map(\.user)
    guard try await BrowserUsers.haveClientSessions(known, call.context) else { return nil }
    return Leaving(user: nil, person: nil)
  }

  /// Returns a user of the browser; nil if the user has no session there that would end.
  ///
  /// - Throws: `.databaseUnavailable`.
  static func named(_ user: DeviceUser, _ call: Call) async throws(Failure) -> Leaving? {
    if user.state == .loggedOut {
      guard try await BrowserUsers.haveClientSessions([user.user], call.context) else { return nil }
    }
    let picture = call.image(user.picture)
    return Leaving(
      user: user.user, person: Person(name: user.name, email: user.email, picture: picture)
    )
  }

  /// Signs out, and makes no other user active.
  ///
  /// - Throws: `.databaseUnavailable`.
  func signOut(_ call: Call) async throws(Failure) {
    guard let user else { return try await call.signOutAllOfBrowser() }
    try await Devices.logout(user, next: .none, call.context)
  }

  /// Returns the page that asks the user.
  ///
  /// - Parameters:
  ///   - confirmation: the path of its form, which has `stay` if the user declines.
  ///   - path: what the form belongs to.
  ///   - fields: what the form sends beside the answer.
  ///   - call: the request.
  ///   - locales: the languages that the client prefers.
  /// - Returns: the page.
  func question(
    _ confirmation: LocalPath, of path: String, _ fields: [HiddenField], _ call: Call,
    locales: [String] = []
  ) -> Response {
    let page = Page.signOut(
      call.target(confirmation, of: path, fields), person: person,
      stay: call.target(confirmation, of: path, fields + [.stay])
    )
    return call.response(with: page, locales: locales)
  }
}

extension HiddenField {
  fileprivate static let stay = HiddenField("stay", "1")
}

extension FormValues {
  /// Whether the user has chosen to stay signed in.
  var declinesSignOut: Bool { self[HiddenField.stay.name] != nil }
}

extension Call {
  /// Leads back to the client, if it has registered where; otherwise says that the user is signed out.
  ///
  /// - Parameters:
  ///   - client: the id of the client, which may not exist; nil if none is known.
  ///   - url: where the browser goes; nil for our page.
  ///   - afterForm: whether the browser has just sent one of our forms, as in `HandOver`.
  /// - Returns: the response.
  /// - Throws: `.internalError` if the state of our page cannot be encrypted.
  func signedOut(by client: String?, to url: String?, afterForm: Bool) throws(Failure) -> Response {
    guard let url else {
      let done = LocalPath(checked: LogoutRoutes.donePath)
      let state = PageState(values: client.map { [.client: $0] } ?? [:])
      return try redirect(to: done, showing: state)
    }
    if afterForm, let destination = Destination(url, of: RedirectTarget(url)) {
      return response(with: .handOver(to: destination), hasLanguages: false)
    }
    return Response(request.method == .get ? .found : .seeOther, redirectingTo: url)
  }
}
