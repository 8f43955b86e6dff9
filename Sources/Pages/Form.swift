package import Localization

/// The name of a field, which is also its id.
///
/// Only literals are names, so none contains a space or a value from outside.
package struct InputName: Sendable, Hashable, ExpressibleByStringLiteral {
  package let text: String

  package init(stringLiteral value: StaticString) { text = value.description }

  package static let email: InputName = "email"
  package static let password: InputName = "password"
  package static let newPassword: InputName = "new_password"
  package static let code: InputName = "code"
  package static let recoveryCode: InputName = "recovery_code"
}

/// The target of a form and the values that come back with it.
package struct FormTarget: Sendable {
  package let action: LocalPath
  package let hidden: [HiddenField]

  package init(_ action: LocalPath, hidden: [HiddenField] = []) {
    self.action = action
    self.hidden = hidden
  }
}

package struct HiddenField: Sendable {
  package let name: String
  package let value: String

  package init(_ name: String, _ value: String) {
    self.name = name
    self.value = value
  }
}

/// A form with one task.
package struct Form: Sendable {
  package let action: Destination
  package let hidden: [HiddenField]
  package var fields: [Field]
  package var buttons: [Button]

  package init(_ target: FormTarget, fields: [Field] = [], buttons: [Button]) {
    self.init(
      action: Destination(target.action), hidden: target.hidden, fields: fields, buttons: buttons
    )
  }

  /// Creates a form whose target may be another server, as `form_post` needs.
  init(action: Destination, hidden: [HiddenField], fields: [Field] = [], buttons: [Button]) {
    self.action = action
    self.hidden = hidden
    self.fields = fields
    self.buttons = buttons
  }
}

package struct Button: Sendable {
  package enum Style: String, Sendable { case primary, secondary, danger, plain }

  package let label: Text
  package let style: Style
  /// The name and value that the browser sends if the user presses this button.
  package let value: HiddenField?
  /// How long the button waits after the page is loaded, where scripts run; nil for not at all.
  package let wait: Duration?
  let icon: Icon?

  package init(
    _ label: Text, style: Style = .primary, value: HiddenField? = nil, wait: Duration? = nil
  ) {
    self.init(label, style: style, value: value, wait: wait, icon: nil)
  }

  init(_ label: Text, style: Style, value: HiddenField? = nil, wait: Duration? = nil, icon: Icon?) {
    self.label = label
    self.style = style
    self.value = value
    self.wait = wait
    self.icon = icon
  }
}

package struct Field: Sendable {
  package let name: InputName
  package let label: Text
  package let kind: Kind
  package var value = ""
  package var hint: Text?
  package var isFocused = false
  /// The link next to the label, such as the one that changes a read-only value.
  package var link: Link?

  package enum Kind: Sendable {
    case email
    /// An address that does not sign in yet.
    case newEmail
    /// An address that the form only sends back, for password managers too.
    case fixedEmail
    case currentPassword
    case newPassword
    /// A code by mail or of an authenticator app.
    case code
    case recoveryCode
    /// A text with the token of its `autocomplete` attribute.
    case text(autocomplete: StaticString)
    case picture
    case checkbox(isChecked: Bool)
    case choice([Option])
    /// The choice of a time zone, which begins with that of the browser.
    case timeZone([Option])
  }

  /// Whether it is an option of what the button does, and no value that it needs.
  var isOption: Bool { if case .checkbox = kind { true } else { false } }
  var isTimeZone: Bool { if case .timeZone = kind { true } else { false } }

  /// The values to choose from; nil for other fields.
  var options: [Option]? {
    switch kind {
    case .choice(let options), .timeZone(let options): options
    default: nil
    }
  }

  /// Whether the user can change the value.
  var isEditable: Bool { if case .fixedEmail = kind { false } else { true } }

  package struct Option: Sendable {
    package let value: String
    package let label: Text

    package init(_ value: String, _ label: Text) {
      self.value = value
      self.label = label
    }
  }

  package init(
    _ name: InputName, _ label: Text, _ kind: Kind, value: String = "", hint: Text? = nil,
    isFocused: Bool = false, link: Link? = nil
  ) {
    self.name = name
    self.label = label
    self.kind = kind
    self.value = value
    self.hint = hint
    self.isFocused = isFocused
    self.link = link
  }
}

// The fields of several pages.
extension Field {
  static func email(_ value: String) -> Field {
    Field(.email, .message(.email), .email, value: value, isFocused: true)
  }

  static func fixedEmail(_ value: String, change: Destination? = nil) -> Field {
    let link = change.map { Link(.message(.change), to: $0) }
    return Field(.email, .message(.email), .fixedEmail, value: value, link: link)
  }

  static var currentPassword: Field {
    Field(.password, .message(.password), .currentPassword, isFocused: true)
  }

  static func newPassword(
    _ label: MessageKey = .newPassword, minimum: Int, isFocused: Bool = false
  ) -> Field {
    let hint = Text.message(.newPasswordHint, ["count": .count(minimum)])
    return Field(.newPassword, .message(label), .newPassword, hint: hint, isFocused: isFocused)
  }

  /// The field of a code with so many digits.
  static func code(digits: Int, hint: Text? = nil) -> Field {
    Field(.code, .message(.code, ["count": .count(digits)]), .code, hint: hint, isFocused: true)
  }
}

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
    case factorLimit, lastIdentity, identityTaken, identityLimit, identityOfOther
    case restorePending, changedMeanwhile
    case passkeyWrong, passkeyUnknown, passkeyNotVerified, passkeyTaken, passkeyLimit
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
        .factorLimit, .lastIdentity, .identityTaken, .identityLimit, .identityOfOther,
        .restorePending, .changedMeanwhile, .signInExpired, .passkeyWrong, .passkeyUnknown,
        .passkeyNotVerified, .passkeyTaken, .passkeyLimit:
        nil
      }
    }
  }

  package let kind: Kind
  /// The digits of a code, the tries that are left, the characters of a password, or the seconds to
  /// wait.
  package let number: Int?
  /// The input of the user, which the field keeps; nil for an empty field.
  package let typed: String?
  /// The longest text that a field keeps, in bytes.
  private static let longestTyped = 40

  package init(_ kind: Kind, _ number: Int? = nil, typed: String? = nil) {
    (self.kind, self.number) = (kind, number)
    // Credential ids are longer than what people type.
    let longest = kind == .passkeyUnknown ? 1_364 : Self.longestTyped
    self.typed = typed.flatMap { 1...longest ~= $0.utf8.count ? $0 : nil }
  }

  /// Reads the stored form; nil if another version has written it, or without a number that it needs.
  package init?(_ text: String) {
    let parts = text.split(separator: ":", maxSplits: 2)
    guard let kind = parts.first.flatMap({ Kind(rawValue: String($0)) }) else { return nil }
    let number = parts.count > 1 ? Int(parts[1]) : nil
    let needsNumber = kind == .codeMalformed || kind == .passwordShort
    guard number != nil || !needsNumber else { return nil }
    self.init(kind, number, typed: parts.count > 2 ? String(parts[2]) : nil)
  }

  /// The stored form.
  package var text: String {
    guard let number else { return kind.rawValue }
    return "\(kind.rawValue):\(number)" + (typed.map { ":\($0)" } ?? "")
  }

  /// Returns the error as a page shows it.
  ///
  /// - Parameter link: the link that mends the error in another way.
  /// - Returns: the error.
  package func pageError(_ link: Link? = nil) -> PageError {
    let values: [String: Text.Argument] =
      switch kind {
      case .codeMalformed, .passwordShort, .mailCodeWrong: ["count": .count(number ?? 0)]
      case .attempts, .unavailable: ["time": .wait(.seconds(number ?? 1))]
      default: [:]
      }
    let key = kind == .mailCodeWrong && number != nil ? .mailCodeTries : kind.key
    return PageError(.message(key, values), field: kind.field, typed: typed, link: link)
  }
}

extension [FormError] {
  package var pageErrors: [PageError] { map { $0.pageError() } }
}
