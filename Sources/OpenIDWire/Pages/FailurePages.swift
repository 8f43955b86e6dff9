import Accounts
import EventLoop
import Federation
import HTTP
import HostedPages
import JSON
import Localization
import OpenID
import Pages
import Runtime
import Sessions
import WireKit

/// The pages of failures.
@EventLoop enum FailurePages {
  /// Returns the page for a failure.
  ///
  /// - Parameters:
  ///   - failure: the failure.
  ///   - call: the state so far; it may have no app.
  /// - Returns: the page, with the status of the failure.
  static func response(to failure: Failure, of call: Call) -> Response {
    call.response(with: page(for: failure, of: call), status(of: failure))
  }

  private static func page(for failure: Failure, of call: Call) -> Page {
    let support = call.context.app.brandingSettings.support
    switch failure {
    case .unknownApplication: return .unknownApplication(back: Destination(.start))
    case .unregisteredRedirect:
      return .unregisteredRedirect(
        client: failure["client"]?.string ?? "", uri: failure["redirect_uri"]?.string ?? ""
      )
    case .redirectStateInvalid, .authorizationExpired, .sessionEnded, .deviceUnknown, .notLoggedIn:
      return .expired(restart: Destination(.account))
    case .cookiesNeeded: return .cookiesDisabled(reload: reload(call))
    case .userBlocked: return .blocked(support: support)
    case .internalError:
      return .internalError(requestID: "\(call.request.id)", support: support)
    default: return page(for: failure, support)
    }
  }

  /// Returns the page for a failure that can also happen without a request.
  private nonisolated static func page(for failure: Failure, _ support: Destination?) -> Page {
    let wait = failure.retryAfter ?? .seconds(1)
    return switch failure.type.kind {
    case .tooMany: .throttled(wait: wait)
    case .unavailable: .unavailable(wait: wait)
    case .notFound, .gone: .notFound(back: Destination(.start))
    case .internal: .internalError(requestID: nil, support: support)
    case .malformed, .invalid, .unauthenticated, .forbidden, .conflict, .precondition, .tooLarge,
      .unsupportedMedia:
      .refused()
    }
  }

  /// Returns the status of the page.
  ///
  /// No page answers 401, which would need a challenge. Browsers answer none that the pages have.
  private static func status(of failure: Failure) -> Status {
    let status = failure.type.status
    return status == .unauthorized ? .forbidden : status
  }

  /// Returns the address of the page itself, or that of the page before a form.
  private static func reload(_ call: Call) -> Destination {
    let query = call.request.query
    let target = query.isEmpty ? String(call.request.path) : "\(call.request.path)?\(query)"
    return Destination(LocalPath(target) ?? .account)
  }

  // MARK: The web server

  /// Returns the page that the web server sends for one of its own errors.
  ///
  /// It has the default look, since the web server does not know the app.
  nonisolated static func webServerPage(for failure: Failure) -> WebServerPage {
    let renderer = PageRenderer(
      branding: Branding(name: "Dossier"),
      assets: PageAssets(
        stylesheet: AssetRoutes.path("page.css"), script: AssetRoutes.path("page.js")
      )
    )
    let page = page(for: failure, nil)
    return WebServerPage(
      MediaType(rawValue: "text/html"), policy: renderer.headers(of: page).contentSecurityPolicy
    ) { renderer.html(page, PageContext(catalog: $0)) }
  }
}
