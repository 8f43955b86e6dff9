import EventLoop
import HTTP
import HostedPages
import Localization
import Pages
import Runtime
import WireKit
import OpenID

/// The page of the bare host name: the app's own page, or one that leads to the account.
@EventLoop enum StartPage {
  nonisolated static let routes = [
    Route(.get, "/", access: .open, summary: "Show the start page, or lead to that of the app") {
      (call) async throws(Failure) in
      guard call.request.wantsPage else { throw .routeNotFound }
      if let home = call.context.app.brandingSettings.home {
        return Response(.found, redirectingTo: home.text)
      }
      let active = try await call.browserUsers().first(where: \.isActive)
      return call.response(with: .start(active.map(call.person), account: .account))
    }
  ]
}
