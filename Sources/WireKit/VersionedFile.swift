package import HTTP
import JSON
package import Runtime

/// A file whose name contains the version of its content, such as a stylesheet.
package struct VersionedFile: Sendable {
  private let stem: String
  private let suffix: String
  private let version: String
  private let type: String
  private let body: [UInt8]

  /// Creates a file.
  ///
  /// - Parameters:
  ///   - stem: the start of the name, such as `page`.
  ///   - suffix: the end of the name, such as `css`.
  ///   - version: the version of the text.
  ///   - type: the `Content-Type`.
  ///   - text: the content.
  package init(_ stem: String, _ suffix: String, version: String, type: String, text: String) {
    self.stem = stem
    self.suffix = suffix
    self.version = version
    self.type = type
    body = Array(text.utf8)
  }

  package var name: String { "\(stem)-\(version).\(suffix)" }

  /// Returns the file, or nil if the name belongs to another file.
  ///
  /// While settings change or a new version starts, a page may ask a worker that has another version.
  /// Caches then keep the response only for a minute.
  package func response(for name: String) -> Response? {
    guard name.utf8.starts(with: stem.utf8),
      name.utf8.reversed().starts(with: ".\(suffix)".utf8.reversed())
    else { return nil }
    let isCurrent = name.utf8.elementsEqual(self.name.utf8)
    var response = Response(.ok)
    response.body = body
    response.add(.contentType, type)
    response.add(
      .cacheControl, isCurrent ? "public, max-age=31536000, immutable" : "public, max-age=60"
    )
    return response
  }
}

extension [VersionedFile] {
  /// Returns the first of the files that has a name; nil if none has it.
  package func response(for name: String) -> Response? {
    lazy.compactMap { $0.response(for: name) }.first
  }
}

extension Response {
  /// Creates a response with public keys as a JSON Web Key Set.
  ///
  /// Clients may cache the set for as long as a new key waits before it signs.
  /// - Source: RFC 7517 section 5.
  package init(keySet keys: [PublicKey]) {
    let set: JSON = ["keys": .array(keys.map(\.jwk))]
    self.init(.ok)
    body = set.serialized()
    add(.contentType, "application/json")
    add(.cacheControl, "public, max-age=\(PublicKey.age.components.seconds)")
  }
}
