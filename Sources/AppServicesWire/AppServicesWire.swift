import Encoding
import EventLoop
package import HTTP
import JSON
package import Runtime
import Sessions
import Tenancy
package import WireKit
package import Records

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
    LocationRoutes.routes + LoginRoutes.routes + RedirectRoutes.routes + EmailPasswordRoutes.routes
      + SessionRoutes.routes + APIKeyRoutes.routes + FunctionRoutes.routes
      + AbsentRoutes.routes + [ErrorPage.route]
  }

  package var prefixes: [String] { ["/api/client"] }

  package var crossOrigin: CrossOriginFields {
    CrossOriginFields(
      sent: [.authorization, .contentType, .accept, .requestID],
      exposed: [.retryAfter, .requestID, .serviceLocation]
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

/// The location of an app's service: the origin that the client requested.
enum LocationRoutes {
  static let routes = [
    Route(
      .get, "\(AppServicesWire.appPrefix)/location", access: .open,
      summary: "Read the URL of the service of an app"
    ) { call in
      Response(.ok, json: body(call.origin).serialized())
    }
  ]

  /// Returns the location, with members that old versions of realm-core require.
  private static func body(_ origin: String) -> JSON {
    [
      "deployment_model": "GLOBAL", "location": "US-VA", "hostname": .string(origin),
      // `https` becomes `wss`.
      "ws_hostname": .string("ws" + origin.dropFirst("http".count)),
    ]
  }
}

/// The routes of App Services that this server does not offer.
///
/// Each returns an error in the form of App Services.
enum AbsentRoutes {
  private static let app = AppServicesWire.appPrefix
  private static let push = "\(app)/push/providers/{service}/registration"

  static let routes = [
    absent(.get, "\(app)\(FunctionRoutes.path)", "Refuse to watch a collection") { _ in
      ServiceError(.notFound, "watch is not offered", .noCommand)
    },
    absent(.get, "\(app)/realm-sync", "Refuse device sync") { _ in
      ServiceError(.notFound, "device sync is not offered", .noService)
    },
    absent(.put, push, "Refuse to register for push messages", noPush),
    absent(.delete, push, "Refuse to deregister from push messages", noPush),
    absent(.post, "\(app)/graphql", "Refuse GraphQL") { _ in
      ServiceError(.notFound, "GraphQL is not offered", .noService)
    },
  ]

  private static let noPush: @EventLoop @Sendable (Call) -> ServiceError = { call in
    ServiceError(.notFound, "service not found: '\(call.text("service"))'", .noService)
  }

  private static func absent(
    _ method: Method, _ pattern: String, _ summary: String,
    _ error: @escaping @EventLoop @Sendable (Call) -> ServiceError
  ) -> Route {
    Route(method, pattern, access: .open, summary: summary) { call in error(call).response(to: call)
    }
  }
}

/// The settings of an app for clients of App Services.
package struct AppServicesSettings: RecordPart {
  /// Whether the app has clients of App Services.
  let isOffered: Bool
  /// `service/database/collection`, or empty.
  let collection: String
  package let userField: String
  /// Whether `register` is open although `sign_up` is `verify_first`.
  let opensRegistration: Bool

  package init(_ read: inout RecordReader) {
    isOffered = read.flag(
      "app_services", false, safe: false, "whether clients of App Services may call the app"
    )
    collection = read.text(
      "app_services_collection",
      .text(
        0...362, "collection", "This setting must be service/database/collection, or empty.",
        Self.isCollection
      ),
      "",
      "the collection of custom data in clients of App Services: service/database/collection"
    )
    userField = read.text(
      "app_services_user_field",
      .text(
        1...100, "field",
        "This setting must be a name of 1 to 100 characters without dots and dollar signs.",
        Self.isField
      ),
      "userId",
      "the field of its documents that holds the user's id, such as userId or _id"
    )
    opensRegistration = read.flag(
      "app_services_registration",
      false,
      safe: false,
      "whether clients of App Services may register if sign_up is verify_first; the response then "
        + "tells whether an address has a user"
    )
  }

  private static func isCollection(_ text: String) -> Bool {
    text.isEmpty || !text.hasControlCharacters && Namespace(text) != nil
  }

  private static func isField(_ text: String) -> Bool {
    !text.hasControlCharacters
      && !text.utf8.contains { $0 == UInt8(ascii: ".") || $0 == UInt8(ascii: "$") }
  }
}

extension App {
  package var appServicesSettings: AppServicesSettings { settings[AppServicesSettings.self] }
}
