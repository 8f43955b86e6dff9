import EventLoop
import HTTP
import JSON
import OpenID
import Pages
import Runtime
import Sessions
import Tenancy
import WireKit

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
    let request = try await DirectLogoutRequest(call.parameters(), call.context)
    call.findSignInDevice()
    guard let (leaving, isProven) = try await leaving(request, call) else {
      return try request.ending(call, afterForm: false)
    }
    let settings = call.context.app.settings[SignOutSettings.self]
    guard isProven, !settings.alwaysAsks, call.request.isNavigation else {
      return leaving.question(LocalPath(checked: confirmPath), of: path, request.fields, call)
    }
    try await leaving.signOut(call)
    return try request.ending(call, afterForm: false)
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
    return try request.ending(call, afterForm: true)
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
  /// The parameters that a form carries on.
  let fields: [HiddenField]

  /// - Throws: `.unknownApplication`, `.unregisteredRedirect`, `.databaseUnavailable`.
  @EventLoop init(_ values: FormValues, _ context: RequestContext) async throws(Failure) {
    fields = ["client_id", "returnTo"].compactMap { name in
      values[name].map { HiddenField(name, $0) }
    }
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
      target = client?.settings.logoutURLs.first
      return
    }
    // Without a client, the URL may be that of any client of the app.
    guard try await LogoutURLs.allow(wanted, of: client, context) else {
      throw .unregisteredRedirect(wanted, client: client?.name ?? context.app.branding.name)
    }
    target = wanted
  }

  @EventLoop func ending(_ call: Call, afterForm: Bool) throws(Failure) -> Response {
    try call.signedOut(by: client?.id.text, to: target, afterForm: afterForm)
  }
}

extension Request {
  /// Whether the browser opens the response as a page, as far as it says so.
  ///
  /// An image, a frame or a script of another page could otherwise send the request unnoticed, and a
  /// browser may fetch links ahead. Cookies go with these if both pages share a site.
  /// - Source: W3C Fetch Metadata Request Headers section 2.
  fileprivate var isNavigation: Bool {
    field(.fetchDestination)?.hasSameBytes(as: "document") != false && !has(.purpose)
  }
}

extension FieldName {
  /// The use that the browser makes of the response.
  static let fetchDestination = FieldName("Sec-Fetch-Dest")
  /// Present if the browser fetches ahead.
  static let purpose = FieldName("Sec-Purpose")
}
