import Imaging
import Accounts
import Delivery
import EventLoop
import JSON
import Pages
import Runtime
import Sessions

/// An error of the last form, as the state of its pages keeps it.
struct FormError: Sendable, Equatable {
  /// The errors, with the names under which they are stored.
  enum Kind: String, Sendable {
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

  let kind: Kind
  /// The digits of a code, the characters of a password, or the seconds to wait.
  let number: Int?

  init(_ kind: Kind, _ number: Int? = nil) { (self.kind, self.number) = (kind, number) }

  /// Reads the stored form; nil if another version has written it.
  init?(_ text: String) {
    let parts = text.split(separator: ":", maxSplits: 1)
    guard let kind = parts.first.flatMap({ Kind(rawValue: String($0)) }) else { return nil }
    self.init(kind, parts.count > 1 ? Int(parts[1]) : nil)
  }

  /// The stored form.
  var text: String { number.map { "\(kind.rawValue):\($0)" } ?? kind.rawValue }

  /// The error as a page shows it.
  var pageError: PageError {
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
    case .codeMalformed: .codeMalformed(digits: number ?? AuthenticationFlow.length)
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

extension FormError {
  /// Returns the errors that a page shows for a failure; nil if the failure has a page of its own.
  ///
  /// - Parameters:
  ///   - failure: the failure of a verb.
  ///   - wrong: the error for a wrong password or code, which each page words in its own way.
  ///   - app: the app.
  /// - Returns: at least one error, or nil.
  static func errors(of failure: Failure, wrong: Kind, in app: App) -> [FormError]? {
    let seconds = failure.retryAfter?.wholeSeconds
    switch failure.type {
    case .invalid: return failure.faults.map { error(of: $0, in: app) }
    case .wrongCredentials, .invalidCode: return [FormError(wrong)]
    case .tooManyAttempts, .tooManyRequests: return [FormError(.attempts, seconds)]
    case .overloaded: return [FormError(.unavailable, seconds)]
    case .emailTaken: return [FormError(.emailTaken)]
    case .mailNotConfigured: return [FormError(.mailUnavailable)]
    case .signUpClosed: return [FormError(.signUpClosed)]
    case .loginMethodDisabled, .mfaDisabled: return [FormError(.methodClosed)]
    case .deviceFull: return [FormError(.browserFull)]
    case .tooManyFactors: return [FormError(.factorLimit)]
    case .lastIdentity: return [FormError(.lastIdentity)]
    case .preconditionFailed, .identityExists, .noEmail: return [FormError(.changedMeanwhile)]
    case .pictureType, .pictureTruncated, .pictureDamaged, .picturePixels, .pictureTooComplex:
      return [FormError(.pictureUnreadable)]
    default: return nil
    }
  }

  /// Returns the error for a broken rule of an address or a password.
  private static func error(of fault: Fault, in app: App) -> FormError {
    switch fault.place {
    case "/name": return FormError(.nameMalformed)
    case "/email":
      return FormError(fault.code.hasSameBytes(as: "same") ? .emailSame : .emailMalformed)
    case "/password", "/new_password": break
    default: return FormError(.changedMeanwhile)
    }
    switch fault.code {
    case "common": return FormError(.passwordCommon)
    case "personal": return FormError(.passwordPersonal)
    default: return FormError(.passwordShort, app.accountSettings.passwordMinLength)
    }
  }

  /// Returns the error for a new password that is missing or too long; nil for others.
  ///
  /// The domain reports one error for both limits of the length.
  static func error(ofNew password: String) -> FormError? {
    if password.isEmpty { return FormError(.newPasswordMissing) }
    return password.utf8.count > Credentials.longestPassword ? FormError(.passwordLong) : nil
  }
}

extension [FormError] {
  var pageErrors: [PageError] { map(\.pageError) }
}
