import Encoding
import EventLoop
import Glibc
package import JSON

/// Encrypted texts that clients keep, such as cookies and parameters.
extension MasterKey {
  /// The member with the time of the expiry, in seconds since 1970.
  private static let expiry = "until"

  /// Encrypts an object as a text, bound to a name.
  ///
  /// - Throws: `.internalError`.
  package func sealedText(
    _ object: JSONObject, as name: String, for lifetime: Duration
  ) throws(Failure) -> String {
    var object = object
    object[Self.expiry] = .number(JSONNumber(time(nil) + lifetime.wholeSeconds))
    return try sealed(object.serialized(), as: name).base64URL
  }

  /// Decrypts a text; nil if it is forged, or was encrypted under another name.
  package func openedText(_ text: String, as name: String) -> (json: JSON, hasExpired: Bool)? {
    guard let sealed = [UInt8](base64URL: text), let json = openedJSON(sealed, as: name),
      let end = json[Self.expiry]?.number?.int
    else { return nil }
    return (json, end <= time(nil))
  }
}
