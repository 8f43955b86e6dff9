import EventLoop
import HTTP
import JSON
import WireKit

/// The location of an app's service: the origin that the client requested.
enum LocationRoutes {
  static func routes(_ origin: ServiceOrigin) -> [Route] {
    [
      Route(
        .get,
        "\(AppServicesWire.appPrefix)/location",
        access: .open,
        summary: "Where the service of an app is"
      ) { call in
        Response(.ok, json: body(origin.asked(by: call)).serialized())
      }
    ]
  }

  /// Returns the location, with members that old versions of realm-core require.
  private static func body(_ origin: String) -> JSON {
    [
      "deployment_model": "GLOBAL", "location": "US-VA", "hostname": .string(origin),
      // `https` becomes `wss`.
      "ws_hostname": .string("ws" + origin.dropFirst("http".count)),
    ]
  }
}

/// The scheme, host and port of the deployment, as clients see it.
struct ServiceOrigin: Sendable {
  /// The origin for web servers that do not send the origin of the request.
  let fallback: String

  @EventLoop func asked(by call: Call) -> String { Self.asked(by: call) ?? fallback }

  /// Returns the origin that the web server saw, or nil if it sent none.
  @EventLoop static func asked(by call: Call) -> String? {
    call.request.field(.clientOrigin).flatMap(Self.origin)
  }

  /// Returns the origin in the web server's field, or nil if it is invalid.
  private static func origin(_ text: String) -> String? {
    for scheme in ["http://", "https://"] where text.hasPrefix(scheme) {
      let host = text.dropFirst(scheme.count)
      let isFit = host.utf8.allSatisfy { byte in
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
          UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "-"),
          UInt8(ascii: ":"), UInt8(ascii: "["), UInt8(ascii: "]"):
          true
        default: false
        }
      }
      return !host.isEmpty && isFit ? text : nil
    }
    return nil
  }
}
