package import JSON
package import Runtime
import Encoding

/// The URL of a picture elsewhere, which clients show and this server never fetches.
package enum PictureReference {
  private static let longest = 2_048

  /// Returns the fault of a value; nil for a URL of http or https.
  package static func fault(in value: JSON, at place: String) -> FieldError? {
    isURL(value.string ?? "")
      ? nil : FieldError(place, "url", "This member must be a URL of http or https.")
  }

  private static func isURL(_ text: String) -> Bool {
    guard text.utf8.count <= longest,
      text.utf8.allSatisfy({ $0.isVisible && $0 != UInt8(ascii: "\"") }),
      let scheme = ["https://", "http://"].first(where: { text.lowercased().hasPrefix($0) })
    else { return false }
    return !text.utf8.dropFirst(scheme.utf8.count).prefix { !"/?#".utf8.contains($0) }.isEmpty
  }
}
