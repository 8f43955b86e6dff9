/// An error of the last form, as the state of its pages keeps it.
package struct FormError: Sendable, Equatable {
  /// The errors, with the names under which they are stored.
  package enum Kind: String, Sendable {
    case emailMissing = "email_missing"
    case emailMalformed = "email_malformed"
    case emailTaken = "email_taken"
    case emailSame = "email_same"
    case nameMalformed = "name_malformed"
    case passwordMissing = "password_missing"
    case newPasswordMissing = "new_password_missing"
    case passwordShort = "password_short"
    case passwordLong = "password_long"
    case passwordCommon = "password_common"
    case passwordPersonal = "password_personal"
    case signInWrong = "sign_in_wrong"
    case passwordWrong = "password_wrong"
    case codeMalformed = "code_malformed"
    case mailCodeWrong = "mail_code_wrong"
    case codeExpired = "code_expired"
    case codeAttempts = "code_attempts"
    case appCodeWrong = "app_code_wrong"
    case recoveryCodeWrong = "recovery_code_wrong"
    case attempts
    case unavailable
    case mailUnavailable = "mail_unavailable"
    case signUpClosed = "sign_up_closed"
    case methodClosed = "method_closed"
    case browserFull = "browser_full"
    case factorLimit = "factor_limit"
    case lastIdentity = "last_identity"
    case changedMeanwhile = "changed_meanwhile"
    case pictureMissing = "picture_missing"
    case pictureUnreadable = "picture_unreadable"
    case confirmationWrong = "confirmation_wrong"
    case signInExpired = "sign_in_expired"
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
    switch kind {
    case .emailMissing: .emailMissing
    case .emailMalformed: .emailMalformed
    case .emailTaken: .emailTaken
    case .emailSame: .emailSame
    case .nameMalformed: .nameMalformed
    case .passwordMissing: .passwordMissing
    case .newPasswordMissing: .newPasswordMissing
    case .passwordShort: .passwordShort(minimum: number ?? 0)
    case .passwordLong: .passwordLong
    case .passwordCommon: .passwordCommon
    case .passwordPersonal: .passwordPersonal
    case .signInWrong: .signInWrong
    case .passwordWrong: .passwordWrong
    case .codeMalformed: .codeMalformed(digits: number ?? 0)
    case .mailCodeWrong: .mailCodeWrong
    case .codeExpired: .codeExpired
    case .codeAttempts: .codeAttempts
    case .appCodeWrong: .authenticatorCodeWrong
    case .recoveryCodeWrong: .recoveryCodeWrong
    case .attempts: .attempts(wait: .seconds(number ?? 1))
    case .unavailable: .unavailable(wait: .seconds(number ?? 1))
    case .mailUnavailable: .mailUnavailable
    case .signUpClosed: .signUpClosed
    case .methodClosed: .methodClosed
    case .browserFull: .browserFull
    case .factorLimit: .factorLimit
    case .lastIdentity: .lastIdentity
    case .changedMeanwhile: .changedMeanwhile
    case .pictureMissing: .pictureMissing
    case .pictureUnreadable: .pictureUnreadable
    case .confirmationWrong: .confirmationWrong
    case .signInExpired: .signInExpired
    }
  }
}

extension [FormError] {
  package var pageErrors: [PageError] { map(\.pageError) }
}
