import Localization

// The pages that identify and authenticate a user.
extension Page {
  /// Asks for the address; the next page is the same for all addresses.
  ///
  /// - `target`: the form of the address; nil if users sign in only at other issuers.
  /// - `isRemembered`: whether the browser keeps the address for the next sign-in.
  /// - `connections`: the issuers, in the order of the operator.
  package static func signIn(
    _ target: FormTarget?, email: String = "", isRemembered: Bool = false, client: String? = nil,
    signUp: Destination? = nil, passkey: PasskeyForm? = nil, connections: [ConnectionButton] = [],
    errors: [PageError] = []
  ) -> Page {
    var page = Page(title: .signIn)
    page.errors = errors
    page.introduction = [
      client.map { .message(.signInToClient, ["client": .name($0)]) } ?? .message(.signInToApp)
    ]
    if let target {
      let remember = Field(
        "remember", .message(.rememberAddress), .checkbox(isChecked: isRemembered)
      )
      let style: Button.Style = passkey?.isFirst == true ? .secondary : .primary
      let buttons = [Button(.message(.continue), style: style)]
      page.body = [.form(Form(target, fields: [.email(email), remember], buttons: buttons))]
    }
    page.add(passkey)
    page.add(connections)
    page.add(.createAccount, to: signUp)
    return page
  }

  /// Asks for the password of an address.
  ///
  /// - `mailCode`: sends a code instead. It is a form, since a link must send no mail.
  /// - `passkey`: above the password if it is the one that the user has used in this browser.
  package static func password(
    _ target: FormTarget, email: String, change: Destination, reset: Destination? = nil,
    mailCode: FormTarget? = nil, passkey: PasskeyForm? = nil, errors: [PageError] = []
  ) -> Page {
    var field = Field.currentPassword
    field.link = reset.map { Link(.message(.forgotPassword), to: $0) }
    // The page has that link below the field.
    let errors = errors.map { $0.link?.destination == reset ? $0.withoutLink : $0 }
    let isSecond = passkey?.isFirst == true
    field.isFocused = !isSecond
    let fields = [.fixedEmail(email, change: change), field]
    var page = asking(
      .enterPassword, target, fields, .signIn, isSecond ? .secondary : .primary, errors: errors)
    page.addAlternative(.mailCodeInstead, mailCode)
    page.add(passkey)
    return page
  }

  /// How long an email may take, before the user needs another one.
  static let resendWait = Duration.seconds(30)

  /// The purpose of a mailed code.
  package enum MailCodePurpose: Sendable, CaseIterable {
    case signIn, verification
  }

  /// Asks for a mailed code.
  ///
  /// - `digits`: the length of the code.
  /// - `resend`: sends a new code; nil if only the form before can.
  package static func mailCode(
    _ target: FormTarget, email: String, for purpose: MailCodePurpose, digits: Int,
    change: Destination? = nil, resend: FormTarget?, password: Destination? = nil,
    errors: [PageError] = []
  ) -> Page {
    let (title, sent): (MessageKey, MessageKey) =
      switch purpose {
      case .signIn: (.enterCode, .codeSent)
      case .verification: (.verifyAddress, .codeSentToYou)
      }
    let fields = [.fixedEmail(email, change: change), Field.code(digits: digits)]
    var page = asking(title, target, fields, .continue, errors: errors)
    page.introduction = [.message(sent, ["email": .address(email)])]
    page.add(.sendNewCode, resend, wait: errors.isEmpty ? resendWait : nil)
    page.add(.usePassword, to: password)
    return page
  }

  /// Asks for the address and the password of a new user.
  ///
  /// - `minimum`: the shortest password that the app accepts; nil if a later page asks for one.
  /// - `connections`: the issuers, in the order of the operator.
  package static func signUp(
    _ target: FormTarget, email: String = "", minimumPassword minimum: Int?, client: String? = nil,
    signIn: Destination, terms: Destination? = nil, passkey: PasskeyForm? = nil,
    connections: [ConnectionButton] = [],
    errors: [PageError] = []
  ) -> Page {
    let fields: [Field] = [.email(email)] + (minimum.map { [.newPassword(minimum: $0)] } ?? [])
    let button: MessageKey = minimum == nil ? .continue : .createAccount
    var page = asking(.createAccount, target, fields, button, errors: errors)
    page.introduction = [
      client.map { .message(.signUpToClient, ["client": .name($0)]) }
        ?? .message(.createAccountIntroduction)
    ]
    page.add(passkey)
    page.add(connections)
    var links = [Link(.message(.haveAccount), to: signIn)]
    if let terms { links.append(Link(.message(.readTerms), to: terms)) }
    page.body.append(.links(links))
    return page
  }

  /// Asks for a code of the authenticator app, or for a passkey.
  ///
  /// - `target`: the form of the code; nil for a user without the app.
  /// - `newPasskey`: makes a passkey, for a user who has none at hand.
  package static func secondFactor(
    _ target: FormTarget?, recoveryCode: Destination? = nil, passkey: PasskeyForm? = nil,
    newPasskey: PasskeyForm? = nil, cancel: FormTarget? = nil, errors: [PageError] = []
  ) -> Page {
    var page = Page(title: .secondFactor)
    page.errors = errors
    let introduction: MessageKey =
      target != nil
      ? .secondFactorIntroduction
      : passkey != nil ? .passkeyStepIntroduction : .passkeyNeededIntroduction
    page.introduction = [.message(introduction)]
    if let target {
      let buttons = [Button(.message(.verify))]
      page.body = [.form(Form(target, fields: [.code(digits: appCodeLength)], buttons: buttons))]
    }
    page.add(passkey)
    page.add(newPasskey)
    page.add(.cancel, cancel)
    page.add(.useRecoveryCode, to: recoveryCode)
    return page
  }

  /// Asks for a recovery code in place of a code of the app.
  package static func recoveryCode(
    _ target: FormTarget, authenticator: Destination, cancel: FormTarget? = nil,
    errors: [PageError] = []
  ) -> Page {
    let field = Field(.recoveryCode, .message(.recoveryCode), .recoveryCode, isFocused: true)
    var page = asking(.recoveryCode, target, [field], .verify, errors: errors)
    page.introduction = [.message(.recoveryCodeIntroduction)]
    page.add(.cancel, cancel)
    page.add(.useAuthenticator, to: authenticator)
    return page
  }
}
