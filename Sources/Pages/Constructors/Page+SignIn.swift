// The pages that identify and authenticate a user.
extension Page {
  /// Asks for the address; the next page is the same for all addresses.
  ///
  /// - `isRemembered`: whether the browser keeps the address for the next sign-in.
  package static func signIn(
    _ target: FormTarget,
    email: String = "",
    isRemembered: Bool = false,
    client: String? = nil,
    signUp: Destination? = nil,
    notices: [Notice] = [],
    errors: [PageError] = []
  ) -> Page {
    var page = Page(title: .signIn)
    page.introduction = [
      client.map { .message(.signInToClient, ["client": .name($0)]) } ?? .message(.signInToApp)
    ]
    page.notices = notices
    page.errors = errors
    let remember = Field(
      "remember",
      .message(.rememberAddress),
      .checkbox(isChecked: isRemembered)
    )
    page.body = [
      .form(
        Form(target, fields: [.email(email), remember], buttons: [Button(.message(.continue))])
      )
    ]
    if let signUp { page.body.append(.links([Link(.message(.createAccount), to: signUp)])) }
    return page
  }

  /// Asks for the password of an address.
  ///
  /// - `mailCode`: sends a code instead. It is a form, since a link must send no mail.
  package static func password(
    _ target: FormTarget,
    email: String,
    change: Destination,
    reset: Destination? = nil,
    mailCode: FormTarget? = nil,
    errors: [PageError] = []
  ) -> Page {
    var page = Page(title: .enterPassword)
    page.errors = errors
    var field = Field.currentPassword
    field.link = reset.map { Link(.message(.forgotPassword), to: $0) }
    let fields = [.fixedEmail(email, change: change), field]
    page.body = [.form(Form(target, fields: fields, buttons: [Button(.message(.signIn))]))]
    if let mailCode {
      let button = Button(.message(.mailCodeInstead), style: .secondary)
      page.body.append(.form(Form(mailCode, buttons: [button])))
    }
    return page
  }

  /// The purpose of a mailed code.
  package enum MailCodePurpose: Sendable, CaseIterable {
    case signIn, verification
  }

  /// Asks for a mailed code.
  ///
  /// - `digits`: the length of the code.
  /// - `resend`: sends a new code; nil if only the form before can.
  package static func mailCode(
    _ target: FormTarget,
    email: String,
    for purpose: MailCodePurpose,
    digits: Int = 8,
    change: Destination? = nil,
    resend: FormTarget?,
    password: Destination? = nil,
    errors: [PageError] = []
  ) -> Page {
    let title: MessageKey =
      switch purpose {
      case .signIn: .enterCode
      case .verification: .verifyAddress
      }
    var page = Page(title: title)
    page.notices = [Notice(.information, .message(.codeSent, ["email": .name(email)]))]
    page.errors = errors
    let fields = [
      .fixedEmail(email, change: change),
      Field.code(digits: digits, hint: .message(.mailCodeHint)),
    ]
    page.body = [.form(Form(target, fields: fields, buttons: [Button(.message(.continue))]))]
    if let resend {
      let again = Button(.message(.sendNewCode), style: .secondary)
      page.body.append(.form(Form(resend, buttons: [again])))
    }
    if let password {
      page.body.append(.links([Link(.message(.usePassword), to: password)]))
    }
    return page
  }

  /// Asks for the address and the password of a new user.
  ///
  /// - `minimum`: the shortest password that the app accepts.
  package static func signUp(
    _ target: FormTarget,
    email: String = "",
    minimumPassword minimum: Int,
    signIn: Destination,
    terms: Destination? = nil,
    errors: [PageError] = []
  ) -> Page {
    var page = Page(title: .createAccount)
    page.introduction = [.message(.createAccountIntroduction)]
    page.errors = errors
    page.body = [
      .form(
        Form(
          target,
          fields: [.email(email), .newPassword(minimum: minimum)],
          buttons: [Button(.message(.createAccount))]
        )
      )
    ]
    var links = [Link(.message(.haveAccount), to: signIn)]
    if let terms { links.append(Link(.message(.readTerms), to: terms)) }
    page.body.append(.links(links))
    return page
  }

  /// Asks for a code of the authenticator app.
  package static func secondFactor(
    _ target: FormTarget,
    recoveryCode: Destination? = nil,
    cancel: FormTarget? = nil,
    errors: [PageError] = []
  ) -> Page {
    var page = Page(title: .secondFactor)
    page.introduction = [.message(.secondFactorIntroduction)]
    page.errors = errors
    let field = Field.code(digits: appCodeLength)
    page.body = [.form(Form(target, fields: [field], buttons: [Button(.message(.verify))]))]
    page.addCancel(cancel)
    if let recoveryCode {
      page.body.append(.links([Link(.message(.useRecoveryCode), to: recoveryCode)]))
    }
    return page
  }

  /// Asks for a recovery code in place of a code of the app.
  package static func recoveryCode(
    _ target: FormTarget,
    authenticator: Destination,
    cancel: FormTarget? = nil,
    errors: [PageError] = []
  ) -> Page {
    var page = Page(title: .recoveryCode)
    page.introduction = [.message(.recoveryCodeIntroduction)]
    page.errors = errors
    let field = Field(.recoveryCode, .message(.recoveryCode), .recoveryCode, isFocused: true)
    page.body = [.form(Form(target, fields: [field], buttons: [Button(.message(.verify))]))]
    page.addCancel(cancel)
    page.body.append(.links([Link(.message(.useAuthenticator), to: authenticator)]))
    return page
  }

  /// Adds a button that ends the sign-in or the change.
  mutating func addCancel(_ target: FormTarget?) {
    guard let target else { return }
    body.append(.form(Form(target, buttons: [Button(.message(.cancel), style: .secondary)])))
  }
}
