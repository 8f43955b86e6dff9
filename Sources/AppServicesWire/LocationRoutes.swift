import EventLoop
import HTTP
import JSON
import WireKit

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
