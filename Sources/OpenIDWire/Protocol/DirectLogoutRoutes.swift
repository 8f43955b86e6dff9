import EventLoop
import HTTP
import OpenID
import Pages
import Runtime
import Sessions
import Tenancy
import WireKit

/// `/v2/logout`, where Auth0's SDKs sign the user of the browser out.
///
/// These SDKs expect no page, so another site can sign a user out by a link. It learns nothing.
@EventLoop enum DirectLogoutRoutes {
  nonisolated static let routes = [
    Route(
      .get,
      "/v2/logout",
      access: .open,
      isCrossOrigin: false,
      summary: "Sign the user of the browser out, without a question",
      logout
    )
  ]

  private static func logout(_ call: Call) async throws(Failure) -> Response {
    let target = try await target(call.parameters(), call.context)
    call.findSignInDevice()
    let users = try await BrowserUsers.all(call.context)
    // The other users of the browser stay, but none becomes active.
    if let user = users.first(where: \.isActive) {
      try await Devices.logout(user.user, next: .none, call.context)
    } else if users.isEmpty {
      // Sessions of clients may have outlived the user's session at the pages.
      try await call.signOutAllOfBrowser()
    }
    guard let target else { return call.redirect(to: LocalPath(checked: LogoutRoutes.donePath)) }
    return Response(.found, redirectingTo: target)
  }

  /// Returns the URL to which the browser goes; nil for our page.
  ///
  /// Without a client, the URL may be that of any client of the app.
  /// - Throws: `.unknownApplication`, `.unregisteredRedirect`, `.databaseUnavailable`.
  private static func target(
    _ values: FormValues,
    _ context: RequestContext
  ) async throws(Failure) -> String? {
    let (wanted, id) = (values["returnTo"] ?? "", values["client_id"] ?? "")
    var client: Client?
    if !id.isEmpty {
      guard let known = ClientID(id) else { throw .unknownApplication }
      client = try await Clients.client(known, of: context.app.id, context)
      guard client != nil else { throw .unknownApplication }
    }
    guard !wanted.isEmpty else { return client?.settings.logoutURLs.first }
    guard try await LogoutURLs.allow(wanted, of: client, context) else {
      throw .unregisteredRedirect(wanted, client: client?.name ?? context.app.branding.name)
    }
    return wanted
  }
}
