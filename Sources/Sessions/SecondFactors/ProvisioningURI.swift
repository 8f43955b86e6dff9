import Encoding

/// The content of the QR code for an authenticator app.
///
/// - Source: github.com/google/google-authenticator/wiki/Key-Uri-Format.
enum ProvisioningURI {
  /// Returns the URI of a secret.
  ///
  /// Form, digits and period are the defaults of the format, which some apps take no others for.
  static func text(_ secret: [UInt8], of account: String, at issuer: String) -> String {
    let (issuer, account) = (PercentCoding.encode(issuer), PercentCoding.encode(account))
    return "otpauth://totp/\(issuer):\(account)?secret=\(secret.base32)&issuer=\(issuer)"
  }
}
