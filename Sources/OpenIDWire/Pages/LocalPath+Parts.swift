import Encoding
import Pages

extension LocalPath {
  /// The account page, where a browser without an authorization begins.
  static let account = LocalPath(checked: "/account")

  /// Wraps a path of this module, in which values from outside are percent-encoded.
  init(checked text: String) {
    guard let path = LocalPath(text) else {
      preconditionFailure("\(text) is not the path of a page")
    }
    self = path
  }

  /// Returns the path with a parameter in its query.
  func with(_ name: String, _ value: String) -> LocalPath {
    let mark = text.utf8.contains(UInt8(ascii: "?")) ? "&" : "?"
    return LocalPath(checked: "\(text)\(mark)\(name)=\(PercentCoding.encode(value))")
  }
}
