package import Runtime
import Sessions
import Tenancy
import Encoding
import EventLoop
package import HTTP
import JSON
package import WireKit

/// The client API of Atlas App Services, `/api/client/v2.0`, for the SDKs written for it.
///
/// - Source: the requests and responses of the public SDKs; see `Moving from Atlas App Services`.
package struct AppServicesWire: Wire {
  static let prefix = "/api/client/v2.0"
  static let appPrefix = "\(prefix)/app/{app}"
  /// The start of every path that contains an app, including unknown paths.
  static let appStart = "\(prefix)/app/"
  static let authPrefix = "\(prefix)/auth"

  package init() {}

  package var routes: [Route] {
    LocationRoutes.routes + LoginRoutes.routes + EmailPasswordRoutes.routes
      + SessionRoutes.routes + APIKeyRoutes.routes + FunctionRoutes.routes
      + AbsentRoutes.routes + [ErrorPage.route]
  }

  package var prefixes: [String] { ["/api/client"] }

  package var crossOrigin: CrossOriginFields {
    CrossOriginFields(
      sent: [.authorization, .contentType, .accept, .requestID], exposed: [.retryAfter, .requestID]
    )
  }

  /// Returns the app of the path.
  ///
  /// The paths of sessions do not contain it, so there it comes from the token.
  @EventLoop package func app(of call: Call) throws(Failure) -> AppReference {
    if let name = call.captures["app"] { return .named(name) }
    let path = call.request.path.utf8
    if path.starts(with: Self.appStart.utf8) {
      let name = path.dropFirst(Self.appStart.utf8.count).prefix { $0 != UInt8(ascii: "/") }
      return .named(PercentCoding.decode(Substring(name)) ?? "")
    }
    // The page is the same for all apps.
    if path.elementsEqual(ErrorPage.path.utf8) { return .host }
    guard let token = try? call.request.bearerToken, let app = AccessTokens.app(of: token)
    else { throw call.request.has(.authorization) ? .tokenInvalid : .tokenMissing }
    return .id(app)
  }

  /// Returns whether the app has clients of App Services; the page about errors belongs to no app.
  @EventLoop package func isOffered(by app: App, to call: Call) -> Bool {
    app.appServicesSettings.isOffered || call.request.path.utf8.elementsEqual(ErrorPage.path.utf8)
  }

  @EventLoop package func response(to failure: Failure, of call: Call) -> Response {
    ServiceError(failure, of: call).response(to: call)
  }

  package func page(for failure: Failure, at prefix: String) -> WebServerPage {
    // Only nginx's log has the request id.
    WebServerPage(.json, ServiceError(failure).json(origin: "", request: "").text)
  }
}

extension FieldName {
  static let accept = FieldName("Accept")
}
