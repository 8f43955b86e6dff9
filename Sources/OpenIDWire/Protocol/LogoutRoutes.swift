import Encoding
import JSON
import EventLoop
import HTTP
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
  nonisolated static let donePath = "/oidc/logout/done"

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
      summary: "Show that the user is signed out"
    ) { (call) async throws(Failure) in try await call.signedOut() },
  ]

  /// Signs out at once if the request names a user of the browser, by an ID token or a session.
  ///
  /// Without a name, any page could send the request, so the user is asked.
  private static func begin(_ call: Call) async throws(Failure) -> Response {
    if call.request.method == .post { return try call.redirectToQuery(path) }
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

  /// - Throws: `.unknownApplication` for another client than that of the ID token;
  ///   `.unregisteredRedirect` if the client has not registered where to go.
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
    guard let id = ClientID(client ?? ""),
      let client = try await Clients.client(id, of: context.app.id, context)
    else { throw .unknownApplication }
    guard client.settings.logoutURLs.contains(where: { $0.hasSameBytes(as: wanted) }) else {
      throw .unregisteredRedirect(wanted, client: client.name)
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
    let pairs = form.names.map { name in
      "\(PercentCoding.encode(name))=\(PercentCoding.encode(form[name] ?? ""))"
    }
    return redirect(to: LocalPath(checked: "\(path)?\(pairs.joined(separator: "&"))"))
  }

  /// The parameters of the query, or of the form in the body.
  ///
  /// - Throws: `.formMalformed`.
  func parameters() throws(Failure) -> FormValues {
    if case .form(let form) = body { return form }
    guard let query = FormValues(request.query) else { throw .formMalformed }
    return query
  }
}
