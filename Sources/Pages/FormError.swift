/// An error of the last form, as the state of its pages keeps it.
package struct FormError: Sendable, Equatable {
  /// The errors, with the names under which they are stored: those of their texts, if they have one
  /// of their own.
  package enum Kind: String, Sendable, CaseIterable {
    case emailMissing, emailMalformed, emailTaken, emailSame, nameMalformed
    case passwordMissing, newPasswordMissing, passwordShort, passwordLong, passwordCommon
    case passwordPersonal, signInWrong, passwordWrong
    case codeMalformed, mailCodeWrong, codeExpired, codeAttempts, authenticatorCodeWrong
    case recoveryCodeWrong
    case attempts, unavailable, mailUnavailable, signUpClosed, methodClosed, browserFull
    case factorLimit, lastIdentity, changedMeanwhile
    case pictureMissing, pictureUnreadable, confirmationWrong, signInExpired

    /// The text of the error.
    var key: MessageKey {
      switch self {
      case .newPasswordMissing: .passwordMissing
      case .attempts: .throttledText
      case .unavailable: .serviceUnavailableText
      case .signInExpired: .signInExpiredText
      default: MessageKey(rawValue: rawValue) ?? .internalErrorText
      }
    }

    /// The field that has to change; nil if no field can mend the error.
    fileprivate var field: InputName? {
      switch self {
      case .emailMissing, .emailMalformed, .emailTaken, .emailSame: .email
      case .nameMalformed: "name"
      case .passwordMissing, .signInWrong, .passwordWrong: .password
      case .newPasswordMissing, .passwordShort, .passwordLong, .passwordCommon,
        .passwordPersonal:
        .newPassword
      case .codeMalformed, .mailCodeWrong, .codeExpired, .codeAttempts, .authenticatorCodeWrong:
        .code
      case .recoveryCodeWrong: .recoveryCode
      case .pictureMissing, .pictureUnreadable: "picture"
      case .confirmationWrong: "confirmation"
      case .attempts, .unavailable, .mailUnavailable, .signUpClosed, .methodClosed, .browserFull,
        .factorLimit, .lastIdentity, .changedMeanwhile, .signInExpired:
        nil
      }
    }
  }

  package let kind: Kind
  /// The digits of a code, the characters of a password, or the seconds to wait.
  package let number: Int?

  package init(_ kind: Kind, _ number: Int? = nil) { (self.kind, self.number) = (kind, number) }

  /// Reads the stored form; nil if another version has written it, or without a number that it needs.
  package init?(_ text: String) {
    let parts = text.split(separator: ":", maxSplits: 1)
    guard let kind = parts.first.flatMap({ Kind(rawValue: String($0)) }) else { return nil }
    let number = parts.count > 1 ? Int(parts[1]) : nil
    let needsNumber = kind == .codeMalformed || kind == .passwordShort
    guard number != nil || !needsNumber else { return nil }
    self.init(kind, number)
  }

  /// The stored form.
  package var text: String { number.map { "\(kind.rawValue):\($0)" } ?? kind.rawValue }

  /// The error as a page shows it.
  package var pageError: PageError {
    let values: [String: Text.Argument] =
      switch kind {
      case .codeMalformed, .passwordShort: ["count": .count(number ?? 0)]
      case .attempts, .unavailable: ["time": .wait(.seconds(number ?? 1))]
      default: [:]
      }
    return PageError(.message(kind.key, values), field: kind.field)
  }
}

extension [FormError] {
  package var pageErrors: [PageError] { map(\.pageError) }
}
