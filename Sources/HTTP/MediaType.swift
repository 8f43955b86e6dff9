/// A media type without its parameters, in lower case.
///
/// - Source: RFC 9110 section 8.3.1.
package struct MediaType: RawRepresentable, Hashable, Sendable {
  package let rawValue: String
  package init(rawValue: String) { self.rawValue = rawValue }

  package static let json = MediaType(rawValue: "application/json")
  package static let mergePatch = MediaType(rawValue: "application/merge-patch+json")
  package static let form = MediaType(rawValue: "application/x-www-form-urlencoded")
  package static let multipart = MediaType(rawValue: "multipart/form-data")
  package static let html = MediaType(rawValue: "text/html")
  package static let css = MediaType(rawValue: "text/css")
  package static let javaScript = MediaType(rawValue: "text/javascript")
  package static let jpeg = MediaType(rawValue: "image/jpeg")
  package static let png = MediaType(rawValue: "image/png")
  package static let webp = MediaType(rawValue: "image/webp")
  package static let heic = MediaType(rawValue: "image/heic")
  package static let heif = MediaType(rawValue: "image/heif")
  package static let avif = MediaType(rawValue: "image/avif")
  package static let gif = MediaType(rawValue: "image/gif")
  /// Uninterpreted bytes.
  package static let octets = MediaType(rawValue: "application/octet-stream")
  package static let jsonPatch = MediaType(rawValue: "application/json-patch+json")

  /// Parses a `Content-Type`; nil if it is malformed or names a charset other than UTF-8.
  package init?(_ field: String) {
    guard let field = FieldParameters(field) else { return nil }
    self.init(field)
  }

  package init?(_ field: FieldParameters) {
    let parts = field.value.utf8.split(
      separator: UInt8(ascii: "/"), omittingEmptySubsequences: false
    )
    guard parts.count == 2, parts.allSatisfy({ !$0.isEmpty }) else { return nil }
    if let charset = field["charset"], !charset.lowercased().utf8.elementsEqual("utf-8".utf8) {
      return nil
    }
    rawValue = field.value
  }
}
