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

  private let origin: ServiceOrigin
  /// Returns the path at which another wire serves the picture of a profile.
  private let picturePath: @Sendable (String) -> String

  /// Creates the wire.
  ///
  /// - Parameters:
  ///   - origin: the scheme, host and port, for web servers that do not send those of the request.
  ///   - picturePath: returns the path of a picture by its name.
  package init(origin: String, picturePath: @escaping @Sendable (String) -> String) {
    self.origin = ServiceOrigin(fallback: origin)
    self.picturePath = picturePath
  }

  package var routes: [Route] {
    let users = UserView(origin: origin, picturePath: picturePath)
    return AppInfoRoutes.routes(origin) + IssuerRoutes.routes(users) + SessionRoutes.routes(users)
      + UserRoutes.routes(users) + PropertyRoutes.routes
  }

  /// The paths of features that this server does not offer, and that name no tenant.
  private static let foreignPrefixes = ["/v1/cards", "/v1/feedback", "/v1/bulk"]

  package var prefixes: [String] { [Self.prefix, Self.hostPrefix] + Self.foreignPrefixes }

  package var writtenFields: [WrittenField] { [.clientOrigin] }

  package var crossOrigin: CrossOriginFields {
    CrossOriginFields(
      sent: [.authorization, .contentType, .requestID],
      exposed: [.retryAfter, .requestID]
    )
  }

  /// Returns the app whose name is the tenant of the path, or the app of the host.
  @EventLoop package func app(of call: Call) throws(Failure) -> AppReference {
    if let name = call.captures["tenant"] { return .named(name) }
    let segments = call.request.path.split(separator: "/", maxSplits: 3)
    guard segments.count > 2, segments[1] == "tenants" else { return .host }
    return .named(PercentCoding.decode(segments[2]) ?? "")
  }

  @EventLoop package func response(to failure: Failure, of call: Call) -> Response {
    WireError(failure, of: call).response(in: ErrorForm(of: call))
  }

  package func page(for failure: Failure, at prefix: String) -> WebServerPage {
    let form: ErrorForm = prefix == Self.hostPrefix ? .both : .api
    return WebServerPage(.json, WireError(failure).json(in: form).text)
  }
}
