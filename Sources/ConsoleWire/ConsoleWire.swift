import ConsoleKit
import ConsolePages
import ConsoleUsers
import EventLoop
package import HTTP
import HostedPages
import JSON
import OpenID
import Pages
package import Runtime
package import WireKit

/// The console, with which administrators look after the deployment in the browser.
package struct ConsoleWire: Wire {
  package init() {}

  package var routes: [Route] {
    let pages = [
      AssetPages.routes,
      AccessPages.routes,
      StartPages.routes,
      OverviewPages.routes,
      UserRoutes.all,
      StoragePages.routes,
      AdministratorPages.routes,
      OwnAccountPages.routes,
      ApplicationPages.routes,
      ApplicationGrantPages.routes,
      ConnectionPages.routes,
      IssuerPages.routes,
      RecordSections.routes,
      RolePages.routes,
      EventPages.routes,
      WebhookPages.routes,
      LogStreamPages.routes,
      SettingPages.routes,
      SettingPlan.routes,
      BrandingPages.routes,
      MailPages.routes,
      LimitPages.routes,
      CustomDataPages.routes,
      AuditPages.routes,
      DeploymentPages.routes,
      HealthPages.routes,
    ]
    return pages.joined().map { route in
      route.ofPage { (call) async throws(Failure) in
        guard call.context.dependencies[Console.self].isOpen(to: call) else {
          throw .routeNotFound
        }
        return try await route.handler(call)
      }
    }
  }

  package var prefixes: [String] { ["/console"] }

  @EventLoop package func app(of call: Call) -> AppReference { .host }

  @EventLoop package func response(to failure: Failure, of call: Call) -> Response {
    var response = ConsoleResponses.page(
      ConsoleResponses.failure(failure, request: "\(call.request.id)"),
      ConsoleResponses.status(of: failure))
    if let time = failure.retryAfter { response.add(.retryAfter, String(time.wholeSeconds)) }
    return response
  }

  /// Returns the page of an unknown path in the frame of an administrator, who finds the way from it.
  @EventLoop package func pageOfUnknownPath(_ call: Call) async -> Response? {
    guard call.context.dependencies[Console.self].isOpen(to: call) else { return nil }
    guard let visit = (try? await ConsoleVisit(call)) ?? nil else {
      return response(to: .routeNotFound, of: call)
    }
    let parts = call.request.path.split(separator: "/")
    if parts.count > 1 { visit.enter(app: String(parts[1])) }
    return visit.response(to: .routeNotFound, back: nil)
  }

  package func page(for failure: Failure, at prefix: String) -> WebServerPage {
    let page = ConsoleResponses.failure(failure, request: nil)
    return WebServerPage(
      MediaType(rawValue: "text/html"), policy: PageHeaders.strictPolicy
    ) { _ in ConsoleResponses.shell.plainHTML(page) }
  }
}
