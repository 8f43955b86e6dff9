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
  package static let jpeg = MediaType(rawValue: "image/jpeg")
  package static let png = MediaType(rawValue: "image/png")
  package static let webp = MediaType(rawValue: "image/webp")
  package static let heic = MediaType(rawValue: "image/heic")
  package static let heif = MediaType(rawValue: "image/heif")
  /// Bytes of any kind.
  package static let octets = MediaType(rawValue: "application/octet-stream")
  package static let jsonPatch = MediaType(rawValue: "application/json-patch+json")

  /// Reads a `Content-Type`; nil when it is malformed or names another charset than UTF-8.
  package init?(_ field: String) {
    // Swift's lower case would make ASCII of letters that only look like it.
    guard field.utf8.allSatisfy({ $0 < 0x80 }) else { return nil }
    let parts = field.split(separator: ";", omittingEmptySubsequences: false).map(Self.trimmed)
    guard let type = parts.first, type.split(separator: "/").count == 2 else { return nil }
    for parameter in parts.dropFirst() {
      let pair = parameter.split(separator: "=", maxSplits: 1)
      guard pair.count == 2 else { return nil }
      let value = pair[1].lowercased().filter { $0 != "\"" }
      if pair[0].lowercased() == "charset", value != "utf-8" { return nil }
    }
    rawValue = type.lowercased()
  }

  private static func trimmed(_ text: Substring) -> Substring {
    let start = text.drop { $0 == " " || $0 == "\t" }
    guard let last = start.lastIndex(where: { $0 != " " && $0 != "\t" }) else { return "" }
    return start[...last]
  }
}
