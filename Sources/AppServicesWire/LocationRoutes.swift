import Dossier
import EventLoop
import HTTP
import JSON
import Wiring

/// Where clients find the service of an app: where they asked.
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

  /// Members that old versions of realm-core must have are there too.
  private static func body(_ origin: String) -> JSON {
    [
      "deployment_model": "GLOBAL", "location": "US-VA", "hostname": .string(origin),
      // `https` becomes `wss`.
      "ws_hostname": .string("ws" + origin.dropFirst("http".count)),
    ]
  }
}

/// Scheme, host and port of the deployment, as clients see it.
struct ServiceOrigin: Sendable {
  /// For clients whose web server does not tell what they asked.
  let fallback: String

  @EventLoop func asked(by call: Call) -> String { Self.asked(by: call) ?? fallback }

  /// Returns the origin that the web server saw; nil if it sent none.
  @EventLoop static func asked(by call: Call) -> String? {
    call.request.field(.clientOrigin).flatMap(Self.origin)
  }

  /// Reads what the web server says that a client asked; nil for what is no origin.
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
