import Encoding
import EventLoop
package import HTTP
import Runtime

extension Call {
  /// The scheme, host and port of the deployment, as the client sees it.
  package var origin: String {
    askedOrigin ?? context.dependencies[ServiceAddress.self].fallback
  }

  /// The origin that the web server saw; nil if it sent none.
  package var askedOrigin: String? { request.field(.clientOrigin).flatMap(Self.origin) }

  /// Returns the origin in the web server's field, or nil if it is invalid.
  private static func origin(_ text: String) -> String? {
    for scheme in ["http://", "https://"] where text.hasPrefix(scheme) {
      let host = text.dropFirst(scheme.count)
      let isFit = host.utf8.allSatisfy { $0.isLetterOrDigit || ".-:[]".utf8.contains($0) }
      return !host.isEmpty && isFit ? text : nil
    }
    return nil
  }
}

extension FieldName {
  /// The scheme, host and port of the client's request, as the web server saw them.
  ///
  /// The web server writes this field, so none that a client sends arrives.
  package static let clientOrigin = FieldName("Dossier-Client-Origin")
}
