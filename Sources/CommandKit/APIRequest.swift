import Encoding
package import HTTP
package import JSON

/// A request to the management API.
package struct APIRequest: Sendable {
  package var method: HTTP.Method
  package let path: String
  package var query: [(name: String, value: String)] = []
  /// The app; nil for the default app.
  package var app: String?
  package var body = Body.none
  /// The version that the resource must have.
  package var ifVersion: Int?

  package enum Body: Sendable {
    case none
    case json(JSON)
    case mergePatch(JSON)
    /// JSON as it was written.
    case text([UInt8])
    /// A merge patch, or in the form of a list a JSON patch, as it was written.
    case patch([UInt8])
    /// Bytes that are no JSON.
    case bytes([UInt8])

    var mediaType: MediaType? {
      switch self {
      case .none: nil
      case .json, .text: .json
      case .mergePatch: .mergePatch
      case .bytes: .octets
      case .patch(let bytes):
        bytes.first { $0 > 0x20 } == UInt8(ascii: "[") ? .jsonPatch : .mergePatch
      }
    }

    var bytes: [UInt8] {
      switch self {
      case .none: []
      case .json(let json), .mergePatch(let json): json.serialized()
      case .text(let bytes), .patch(let bytes), .bytes(let bytes): bytes
      }
    }
  }

  package init(_ method: HTTP.Method, _ path: String, _ body: Body = .none) {
    (self.method, self.path, self.body) = (method, path, body)
  }

  /// Path and query.
  package var target: String {
    guard !query.isEmpty else { return path }
    return path + "?"
      + query.map { "\($0.name)=\(PercentCoding.encode($0.value))" }.joined(separator: "&")
  }
}

/// The response to a request that has succeeded.
package struct APIResponse: Sendable {
  package let body: [UInt8]
  /// The cursor of the next page; nil for the last page.
  package let next: String?
  /// The value of `Total-Count`, if the request asked for it.
  package let total: String?
  /// The bytes after `body`; nil without any.
  package let stream: ResponseStream?

  /// The body as JSON; null without a body.
  package var json: JSON { (try? JSON.parse(body)) ?? .null }

  /// Returns the cursor of the next page.
  ///
  /// - Source: RFC 8288.
  package static func cursor(in link: String?) -> String? {
    guard let target = link?.split(separator: ">").first else { return nil }
    return target.split(separator: "cursor=").dropFirst().last.map {
      String($0.prefix { $0 != "&" })
    }
  }
}

/// Returns a text as one segment of a path.
package func segment(_ text: String) -> String { PercentCoding.encode(text) }
