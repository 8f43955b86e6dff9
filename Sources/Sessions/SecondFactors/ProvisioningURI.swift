import Encoding

/// The content of the QR code for an authenticator app.
///
/// - Source: github.com/google/google-authenticator/wiki/Key-Uri-Format.
enum ProvisioningURI {
  /// Returns the URI of a secret.
  ///
  /// Form, digits and period are the defaults of the format, which some apps take no others for.
  static func text(_ secret: [UInt8], of account: String, at issuer: String) -> String {
    let issuer = encoded(issuer)
    return "otpauth://totp/\(issuer):\(encoded(account))?secret=\(secret.base32)&issuer=\(issuer)"
  }

  /// Encodes all but letters, digits and `-._~`.
  ///
  /// - Source: RFC 3986 section 2.
  private static func encoded(_ text: String) -> String {
    var bytes: [UInt8] = []
    for byte in text.utf8 {
      switch byte {
      case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "-"), UInt8(ascii: "."),
        UInt8(ascii: "_"), UInt8(ascii: "~"):
        bytes.append(byte)
      default:
        bytes.append(UInt8(ascii: "%"))
        bytes.append(hexadecimal: byte, inUpperCase: true)
      }
    }
    return String(decoding: bytes, as: UTF8.self)
  }
}
