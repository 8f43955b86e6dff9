package import Dossier
import EventLoop
package import HTTP
import JSON
package import Wiring

/// The client API of Atlas App Services, `/api/client/v2.0`, for the SDKs that were written for it.
///
/// - Source: what the public SDKs send and read; see `Moving from Atlas App Services`.
package struct AppServicesWire: Wire {
  static let prefix = "/api/client/v2.0"
  static let appPrefix = "\(prefix)/app/{app}"
  /// Of every path that has an app in it, one that leads nowhere too.
  static let appStart = "\(prefix)/app/"
  static let authPrefix = "\(prefix)/auth"

  /// Where the deployment is, for clients whose web server does not tell what they asked.
  private let origin: ServiceOrigin
  /// Where another wire shows the picture that a profile names.
  private let picturePath: @Sendable (String) -> String

  /// - Parameters:
  ///   - origin: scheme, host and port.
  ///   - picturePath: makes a path of the name of a picture.
  package init(origin: String, picturePath: @escaping @Sendable (String) -> String) {
    self.origin = ServiceOrigin(fallback: origin)
    self.picturePath = picturePath
  }

  package var routes: [Route] {
    LocationRoutes.routes(origin) + LoginRoutes.routes + EmailPasswordRoutes.routes
      + SessionRoutes.routes(origin, picturePath) + APIKeyRoutes.routes + FunctionRoutes.routes
      + AbsentRoutes.routes + [ErrorPage.route]
  }

  package var prefixes: [String] { ["/api/client"] }

  package var writtenFields: [WrittenField] {
    [WrittenField(.clientOrigin, "$dossier_scheme://$http_host")]
  }

  package var crossOrigin: CrossOriginFields {
    CrossOriginFields(
      sent: [.authorization, .contentType, .accept, .requestID],
      exposed: [.retryAfter, .requestID]
    )
  }

  /// The app is in the path, and in the paths of sessions only in the token.
  @EventLoop package func app(of call: Call) throws(Failure) -> AppReference {
    if let name = call.captures["app"] { return .named(name) }
    let path = call.request.path.utf8
    if path.starts(with: Self.appStart.utf8) {
      let name = path.dropFirst(Self.appStart.utf8.count).prefix { $0 != UInt8(ascii: "/") }
      return .named(PercentCoding.decode(Substring(name)) ?? "")
    }
    // It is the same for all apps.
    if path.elementsEqual(ErrorPage.path.utf8) { return .host }
    guard let token = try? call.request.bearerToken, let app = AccessTokens.app(of: token)
    else { throw .unauthenticated(call.request.has(.authorization) ? .malformed : .missing) }
    return .id(app)
  }

  @EventLoop package func response(to refusal: Refusal, of call: Call) -> Response {
    ServiceError(refusal, of: call).response(to: call)
  }

  package func page(for refusal: WebServerRefusal) -> WebServerPage {
    // Which request it was is in the log of nginx alone.
    WebServerPage(.json, ServiceError(refusal).json(origin: "", request: "").text)
  }
}

extension FieldName {
  static let accept = FieldName("Accept")
  /// Scheme, host and port that a client asked, as the web server saw them.
  static let clientOrigin = FieldName("Dossier-Client-Origin")
}
