/// The codes of errors that the metrics count as refused sign-ins.
///
/// The list is fixed, so that no client adds labels.
enum RefusalReason: String, CaseIterable {
  /// A look-up takes less time than a comparison with each code.
  static let places = numbered

  case wrongCredentials = "wrong_credentials"
  case codeInvalid = "code_invalid"
  case passkeyInvalid = "passkey_invalid"
  case passkeyUnknown = "passkey_unknown"
  case externalTokenInvalid = "external_token_invalid"
  case refreshTokenInvalid = "refresh_token_invalid"
  case clientUnknown = "client_unknown"
  case deviceUnknown = "device_unknown"
  case userBlocked = "user_blocked"
  case emailUnverified = "email_unverified"
  case loginMethodDisabled = "login_method_disabled"
  case signUpClosed = "sign_up_closed"
  case tooManyAttempts = "too_many_attempts"
  case tooManyRequests = "too_many_requests"
}

/// The actions of the audit log that the metrics count.
enum CountedAction: String, CaseIterable {
  static let places = numbered

  case login
  case loginFailure = "login_failure"
  case rateLimited = "rate_limited"
  case reauthenticate
  case passwordChange = "password_change"
  case passwordReset = "password_reset"
  case passwordResetMail = "password_reset_mail"
  case secondFactorAdd = "second_factor_add"
  case secondFactorRemove = "second_factor_remove"
  case recoveryCodesMake = "recovery_codes_make"
  case passkeyCounter = "passkey_counter"
  case link
  case unlink
  case emailChange = "email_change"
  case emailRestore = "email_restore"
  case accountTakeover = "account_takeover"
  case userBlock = "user_block"
  case userDelete = "user_delete"
  case supportSession = "support_session"
}

extension CaseIterable where Self: RawRepresentable, RawValue == String {
  /// The places of all cases, by their words.
  fileprivate static var numbered: [String: Int] {
    Dictionary(uniqueKeysWithValues: zip(allCases.map(\.rawValue), 0...))
  }
}
