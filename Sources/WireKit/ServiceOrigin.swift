package import EventLoop
package import HTTP

/// The scheme, host and port of the deployment, as clients see it.
@EventLoop package struct ServiceOrigin: Sendable {
  /// The origin for web servers that do not send the origin of the request.
  private let fallback: String

  nonisolated package init(fallback: String) { self.fallback = fallback }

  package func asked(by call: Call) -> String { Self.asked(by: call) ?? fallback }

  /// Returns the origin that the web server saw, or nil if it sent none.
  package static func asked(by call: Call) -> String? {
    call.request.field(.clientOrigin).flatMap(Self.origin)
  }

  /// Returns the origin in the web server's field, or nil if it is invalid.
  private nonisolated static func origin(_ text: String) -> String? {
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

extension WrittenField {
  /// The origin of the client's request, as the web server saw it.
  package static let clientOrigin = WrittenField(.clientOrigin, "$dossier_scheme://$http_host")
}

extension FieldName {
  /// The scheme, host and port of the client's request, as the web server saw them.
  package static let clientOrigin = FieldName("Dossier-Client-Origin")
}
