package import Runtime
import Tenancy
import Encoding
import EventLoop
package import HTTP
import JSON
package import WireKit

/// The API of users of Parra, for the mobile SDKs written for it.
///
/// The SDK calls `/v1/tenants/{tenant}` for users, and an issuer for tokens. The issuer has the same
/// paths below the tenant, or `/auth` at a host of the app.
/// - Source: the requests and responses of the public SDKs; see `Moving from Parra`.
package struct ParraWire: Wire {
  static let prefix = "/v1/tenants"
  static let tenantPrefix = "\(prefix)/{tenant}"
  static let userPrefix = "\(tenantPrefix)/users/{user}"
  static let hostPrefix = "/auth"

  package init() {}

  package var routes: [Route] {
    AppInfoRoutes.routes + IssuerRoutes.routes + SessionRoutes.routes + UserRoutes.routes
      + PropertyRoutes.routes
  }

  /// The paths of features that this server does not offer, and that name no tenant.
  private static let foreignPrefixes = ["/v1/cards", "/v1/feedback", "/v1/bulk"]

  package var prefixes: [String] { [Self.prefix, Self.hostPrefix] + Self.foreignPrefixes }

  package var crossOrigin: CrossOriginFields {
    CrossOriginFields(
      sent: [.authorization, .contentType, .requestID], exposed: [.retryAfter, .requestID]
    )
  }

  /// Returns the app whose name is the tenant of the path, or the app of the host.
  @EventLoop package func app(of call: Call) throws(Failure) -> AppReference {
    if let name = call.captures["tenant"] { return .named(name) }
    let segments = call.request.path.split(separator: "/", maxSplits: 3)
    guard segments.count > 2, segments[1] == "tenants" else { return .host }
    return .named(PercentCoding.decode(segments[2]) ?? "")
  }

  @EventLoop package func isOffered(by app: App, to call: Call) -> Bool {
    app.parraSettings.isOffered
  }

  @EventLoop package func response(to failure: Failure, of call: Call) -> Response {
    WireError(failure, of: call).response(in: ErrorForm(of: call))
  }

  package func page(for failure: Failure, at prefix: String) -> WebServerPage {
    let form: ErrorForm = prefix == Self.hostPrefix ? .both : .api
    return WebServerPage(.json, WireError(failure).json(in: form).text)
  }
}
