import Encoding
package import HTTP

/// The id and the secret in a field `Authorization: Basic`.
///
/// - Source: RFC 6749 section 2.3.1: both are encoded as in a form.
package struct BasicCredentials {
  package let id: String
  package let secret: String

  private static let scheme = "basic "

  package static func areSent(by request: Request) -> Bool {
    request.field(.authorization).map(areIn) ?? false
  }

  private static func areIn(_ field: String) -> Bool {
    field.prefix(scheme.count).lowercased() == scheme
  }

  /// Reads the value of the field; nil if it has another scheme or is malformed.
  package init?(_ field: String) {
    guard Self.areIn(field),
      let bytes = [UInt8](paddedBase64: String(field.dropFirst(Self.scheme.count))),
      let text = String(validating: bytes, as: UTF8.self)
    else { return nil }
    let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
    guard parts.count == 2, let id = PercentCoding.decode(parts[0]),
      let secret = PercentCoding.decode(parts[1])
    else { return nil }
    (self.id, self.secret) = (id, secret)
  }
}
