import PasswordHashes
internal import Crypto
import Encoding

/// The codes of an authenticator app: six digits that change every 30 seconds.
///
/// All authenticator apps know this form: SHA-1, six digits, 30 seconds. Some of them ignore any other.
/// - Source: RFC 6238; RFC 4226 section 5.3.
package enum TimeBasedCode {
  package static let length = 6
  /// The length of a time step, in seconds.
  static let period = 30
  /// How many steps before the present one are accepted, while a code is typed and sent.
  ///
  /// - Source: RFC 6238 section 5.2, which recommends one step at most. No code of a later step is
  ///   accepted, which would prolong its life (OWASP ASVS 5.0, 6.5.5).
  static let delay = 1

  /// Returns the number of the time step at a time in seconds since 1970.
  static func step(at time: Int) -> Int { time / period }

  /// Returns the code of a time step.
  static func code(of secret: [UInt8], at step: Int) -> String {
    var code = HMAC<Insecure.SHA1>(key: SymmetricKey(data: secret))
    code.update(data: stride(from: 56, through: 0, by: -8).map { UInt8(step >> $0 & 255) })
    let hash = Array(code.finalize())
    let offset = Int(hash[hash.count - 1] & 15)
    let number = hash[offset..<offset + 4].reduce(0) { $0 << 8 | Int($1) } & 0x7fff_ffff
    return String(number % 1_000_000, digits: length)
  }

  /// Finds the time step whose code was entered.
  ///
  /// - Parameters:
  ///   - code: six digits.
  ///   - secret: the secret of the authenticator.
  ///   - now: the present time step.
  ///   - last: the step of the last code that was accepted. Codes up to it are used.
  /// - Returns: the step, or nil if the code is wrong or used.
  static func step(of code: String, _ secret: [UInt8], near now: Int, after last: Int) -> Int? {
    let entered = Array(code.utf8)
    return (now - delay...now).first { step in
      step > last && areSame(Array(self.code(of: secret, at: step).utf8), entered)
    }
  }
}
