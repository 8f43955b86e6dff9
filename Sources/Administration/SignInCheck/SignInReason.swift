import Accounts
package import JSON
package import Runtime
import Tenancy

/// A reason why a user cannot sign in, or may have failed to.
package struct SignInReason: Sendable {
  package let code: Code
  /// One sentence for the person who helps the user.
  package let sentence: String
  /// The methods that the reason prevents; empty for one that only may have stopped the user.
  package let prevented: [SignInMethod]
  /// When the reason ends by itself; nil if it does not.
  package let until: Timestamp?
  /// The facts of the sentence.
  package let facts: JSONObject
  package let remedy: Remedy

  /// The codes, which programs depend on.
  package enum Code: String, CaseIterable, Sendable {
    case noUser = "no_user"
    case formerAddress = "former_address"
    case similarAddress = "similar_address"
    case blocked
    case emailUnverified = "email_unverified"
    case signUpWaiting = "sign_up_waiting"
    case noPassword = "no_password"
    case methodDisabled = "method_disabled"
    case wrongPassword = "wrong_password"
    case rateLimited = "rate_limited"
    case factorNotEnrolled = "second_factor_not_enrolled"
    case wrongFactor = "wrong_second_factor"
    case passkeyNotEnrolled = "passkey_not_enrolled"
    case clientUnknown = "client_unknown"
    case clientDisabled = "client_disabled"
    case methodNotAccepted = "method_not_accepted"
    case mailFailed = "mail_failed"
    case connectionOnly = "connection_only"
    case guest
    case deleted = "user_deleted"
    case merged = "user_merged"
  }

  /// The action that removes a reason: a command line, and the same request to `/v1`.
  package struct Remedy: Sendable {
    /// Nil if only the user can act.
    package let command: String?
    package let method: String
    package let path: String
    package let body: JSON?

    init(_ method: String, _ path: String, _ body: JSON? = nil, command: String?) {
      (self.method, self.path, self.body, self.command) = (method, path, body, command)
    }
  }

  init(
    _ code: Code, _ sentence: String, preventing prevented: [SignInMethod] = [],
    until: Timestamp? = nil, with facts: KeyValuePairs<String, JSON> = [:], _ remedy: Remedy
  ) {
    (self.code, self.sentence, self.prevented) = (code, sentence, prevented)
    (self.until, self.remedy) = (until, remedy)
    self.facts = JSONObject(facts.map { ($0.key, $0.value) })
  }
}

/// A method by which a user can sign in.
package enum SignInMethod: Sendable, Equatable {
  case password
  case emailCode
  case passkey
  case apiKey
  /// A connection of the app, by its name.
  case connection(String)
  /// A token of an issuer without a connection.
  case token

  package var name: String {
    switch self {
    case .password: "password"
    case .emailCode: "email_code"
    case .passkey: "passkey"
    case .apiKey: "api_key"
    case .connection(let name): name
    case .token: "jwt"
    }
  }

  /// The setting of the app that allows it; nil for one that has none.
  var setting: LoginMethod? {
    switch self {
    case .password: .password
    case .emailCode: .emailCode
    case .apiKey: .apiKey
    case .token: .jwt
    case .passkey, .connection: nil
    }
  }

  /// The name that a client of the app must accept; nil for a method without one.
  var connection: ClientSettings.Connection? {
    switch self {
    case .password, .passkey: .password
    case .emailCode: .emailCode
    case .connection(let name): .named(name)
    case .apiKey, .token: nil
    }
  }
}

/// A command line of `dossier`, quoted for a shell.
package struct CommandLineText {
  private var words = ["dossier"]

  init(_ words: String...) { self.words += words }

  /// Returns the line, with the app as an option.
  ///
  /// - Parameters:
  ///   - app: the app; nil for a command without one.
  ///   - operand: the last argument, which may come from a stranger.
  /// - Returns: the line.
  func text(in app: App?, _ operand: String? = nil) -> String {
    var all = words
    if let app { all += ["--app", app.name] }
    if let operand {
      if operand.utf8.first == UInt8(ascii: "-") { all.append("--") }
      all.append(operand)
    }
    return all.map(Self.quoted).joined(separator: " ")
  }

  /// Returns a word as a shell reads it.
  package static func quoted(_ word: String) -> String {
    let isPlain = word.utf8.allSatisfy { byte in
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"):
        true
      default: "@._+:/=,-".utf8.contains(byte)
      }
    }
    if isPlain, !word.isEmpty { return word }
    return "'\(word.replacing("'", with: "'\\''"))'"
  }
}
