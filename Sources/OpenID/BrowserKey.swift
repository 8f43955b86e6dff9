import Encoding
import Postgres
package import Runtime

/// The random value in a cookie that identifies a browser to the pages.
///
/// It has no rights. It binds forms and authorizations to the browser that began them.
package struct BrowserKey: Sendable {
  /// The value of the cookie.
  package let text: String
  private let bytes: [UInt8]

  private static let length = 16

  /// Creates a key for a browser without one.
  package init() {
    bytes = Credential.salt()
    text = bytes.base64URL
  }

  /// Reads the value of a cookie; nil if it is malformed.
  package init?(_ text: String) {
    guard let bytes = [UInt8](base64URL: text), bytes.count == Self.length else { return nil }
    (self.text, self.bytes) = (text, bytes)
  }

  /// Returns the hash that is stored with an authorization.
  func hash(_ master: MasterKey) -> BinaryBytes {
    BinaryBytes(master.hash(of: Array("browser ".utf8) + bytes, by: 0))
  }

  /// Returns the mark of a form that this browser has sent with its pass.
  ///
  /// A form may have no secret, so the key and the form alone do not tell who sent it.
  package func mark(of form: [UInt8], with pass: String?, _ master: MasterKey) -> String {
    let pass = Array("\(pass ?? "")\0".utf8)
    return master.mark(of: Array("sent\0".utf8) + bytes + pass + form, by: 0).base64URL
  }

  /// Returns the token of a form, which only this browser can send.
  ///
  /// - Parameters:
  ///   - form: the name of the form, and the flow that it belongs to.
  ///   - master: the master key.
  /// - Returns: the token.
  package func formToken(_ form: String, _ master: MasterKey) -> String {
    master.mark(of: Array("form \(form)\0".utf8) + bytes, by: 0).base64URL
  }
}
