import Encoding
package import HTTP
import JSON

/// The parameters that an issuer sends back with the browser, read but not verified.
///
/// An ID token among the parameters is ignored: only the token endpoint is asked for one.
/// - Source: RFC 6749 sections 4.1.2 and 4.1.2.1; RFC 9207 section 2.
package struct CallbackParameters: Sendable {
  package let state: String
  package let outcome: Outcome
  /// The `iss`; nil if the callback has none.
  package let issuer: String?
  /// The name of the user, which the browser could have changed; nil if the callback has none.
  package let name: StatedName?
  /// The text that has the name.
  private let user: String?

  package enum Outcome: Sendable, Equatable {
    case code(String)
    /// An error code, and the first bytes of the explanation for the log.
    case error(code: String, description: String?)
  }

  /// The greatest lengths in bytes.
  private static let (stateLimit, issuerLimit) = (2_048, 1_024)

  /// Reads a query or a form.
  ///
  /// - Throws: `.invalidCallback` with the rule that it breaks. `.refused` is not thrown: a callback
  ///   with an error must be verified as well.
  package init(_ values: FormValues) throws(OpenIDClientError) {
    guard values.repeated.isEmpty else { throw .invalidCallback(rule: "it repeats a parameter") }

    func value(_ name: String, limit: Int) throws(OpenIDClientError) -> String? {
      guard let value = values[name], !value.isEmpty else { return nil }
      guard value.utf8.count <= limit else {
        throw .invalidCallback(rule: "its \(name) is longer than \(limit) bytes")
      }
      return value
    }

    guard let state = try value("state", limit: Self.stateLimit) else {
      throw .invalidCallback(rule: "it has no state")
    }
    self.state = state
    issuer = try value("iss", limit: Self.issuerLimit)
    name = values["user"].flatMap(StatedName.init)
    user = name == nil ? nil : values["user"]
    let code = try value("code", limit: CodeGrant.codeLimit)
    guard code.map(CodeGrant.isCode) != false else {
      throw .invalidCallback(rule: "its code has other characters than printable ASCII")
    }
    switch (code, values["error"].flatMap { $0.isEmpty ? nil : $0 }) {
    case (let code?, nil): outcome = .code(code)
    case (nil, let error?):
      outcome = .error(
        code: ErrorCode.read(error), description: ErrorCode.excerpt(values["error_description"])
      )
    case (nil, nil): throw .invalidCallback(rule: "it has neither code nor error")
    case (_?, _?): throw .invalidCallback(rule: "it has both code and error")
    }
  }

  /// The parameters as a query, without what services send beside them, such as ID tokens.
  package var query: String {
    var parameters: [(String, String?)] = [("state", state), ("iss", issuer), ("user", user)]
    switch outcome {
    case .code(let code): parameters.append(("code", code))
    case .error(let code, let description):
      parameters += [("error", code), ("error_description", description)]
    }
    return parameters.compactMap { name, value in
      value.map { "\(name)=\(PercentCoding.encode($0))" }
    }.joined(separator: "&")
  }
}

/// The error codes of issuers.
enum ErrorCode {
  /// Returns a code of visible ASCII, at most 64 bytes; `unknown_error` for any other.
  static func read(_ text: String) -> String {
    (1...64).contains(text.utf8.count) && text.utf8.allSatisfy(\.isVisible) ? text : "unknown_error"
  }

  /// Returns the first 200 bytes of an explanation, with spaces for what a log cannot print.
  static func excerpt(_ text: String?) -> String? {
    guard let text, !text.isEmpty else { return nil }
    let plain = text.excerpt(200).unicodeScalars.map { $0.isPrinted ? $0 : " " }
    return String(String.UnicodeScalarView(plain))
  }
}

/// A name that an issuer sends with the browser, unsigned, at the first sign-in of a user.
///
/// It may fill the profile of a new user, as if the user had typed it.
/// - Source: Apple, "Configuring your webpage for Sign in with Apple".
package struct StatedName: Sendable, Equatable {
  package let givenName: String?
  package let familyName: String?

  private static let limit = 4_096

  /// Reads the JSON text of a parameter `user`; returns nil if it has no name.
  package init?(_ text: String) {
    guard text.utf8.count <= Self.limit, let name = (try? JSON.parse(Array(text.utf8)))?["name"]
    else { return nil }
    self.init(given: name["firstName"]?.string, family: name["lastName"]?.string)
  }

  /// Keeps the parts of a name that a profile can hold; returns nil if none is left.
  package init?(given: String?, family: String?) {
    givenName = given.flatMap { ProfileText.name($0, ProfileText.partLimit) }
    familyName = family.flatMap { ProfileText.name($0, ProfileText.partLimit) }
    guard givenName != nil || familyName != nil else { return nil }
  }

  /// The whole name, the given name first.
  package var full: String {
    [givenName, familyName].compactMap(\.self).joined(separator: " ")
  }
}
