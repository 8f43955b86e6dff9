import Localization

// One page for each change of an account.
extension Page {
  /// Changes the name, the language and the zone.
  ///
  /// - `languages`: the languages to choose from; the page has no such field without any.
  /// - `zones`: the time zones to choose from.
  package static func changeProfile(
    _ target: FormTarget, name: String, language: String = "", languages: [Field.Option] = [],
    zone: String = "", zones: [Field.Option] = [], back: Destination, errors: [PageError] = []
  ) -> Page {
    var fields = [
      Field("name", .message(.name), .text(autocomplete: "name"), value: name, isFocused: true)
    ]
    if !languages.isEmpty {
      fields.append(Field("locale", .message(.language), .choice(languages), value: language))
    }
    if !zones.isEmpty {
      fields.append(Field("zone", .message(.timeZone), .timeZone(zones), value: zone))
    }
    return change(.nameAndLanguage, target, fields, .save, back: back, errors: errors)
  }

  /// Uploads a picture.
  package static func changePicture(
    _ target: FormTarget, person: Person, remove: FormTarget? = nil, back: Destination,
    errors: [PageError] = []
  ) -> Page {
    let field = Field("picture", .message(.pictureFile), .picture, hint: .message(.pictureHint))
    var page = change(.picture, target, [field], .upload, back: back, errors: errors)
    page.body.insert(.person(person), at: 0)
    if person.picture != nil { page.add(.removePicture, remove) }
    return page
  }

  /// Asks for a new address, which replaces the old one after its owner verified it.
  ///
  /// - `current`: the old address; nil for a user without one.
  package static func changeAddress(
    _ target: FormTarget, current: String?, email: String = "", back: Destination,
    errors: [PageError] = []
  ) -> Page {
    let field = Field(.email, .message(.newAddress), .newEmail, value: email, isFocused: true)
    let title: MessageKey = current == nil ? .addAddress : .changeAddress
    var page = change(title, target, [field], .sendCode, back: back, errors: errors)
    page.introduction = [
      current.map { .message(.changeAddressIntroduction, ["email": .address($0)]) }
        ?? .message(.addAddressIntroduction)
    ]
    return page
  }

  /// Changes the password.
  package static func changePassword(
    _ target: FormTarget, email: String, minimumPassword minimum: Int, back: Destination,
    errors: [PageError] = []
  ) -> Page {
    let fields = [
      .fixedEmail(email),
      Field(.password, .message(.currentPassword), .currentPassword, isFocused: true),
      .newPassword(.nextPassword, minimum: minimum),
    ]
    var page = change(.changePassword, target, fields, .savePassword, back: back, errors: errors)
    page.introduction = [.message(.changePasswordText)]
    return page
  }

  /// Turns the authenticator app off.
  ///
  /// - `leavesPasskey`: whether each sign-in then asks for a passkey.
  package static func turnOffAuthenticator(
    _ target: FormTarget, leavesPasskey: Bool = false, back: Destination
  ) -> Page {
    var page = change(.turnOffAuthenticator, target, [], .turnOff, .danger, back: back)
    page.introduction = [
      .message(leavesPasskey ? .turnOffForPasskeyText : .turnOffAuthenticatorText)
    ]
    return page
  }

  package static func replaceRecoveryCodes(_ target: FormTarget, back: Destination) -> Page {
    var page = change(.replaceRecoveryCodes, target, [], .createCodes, back: back)
    page.introduction = [.message(.replaceRecoveryCodesText)]
    return page
  }

  package static func unlinkIdentity(
    _ target: FormTarget, issuer: String, back: Destination, errors: [PageError] = []
  ) -> Page {
    var page = change(.unlinkIdentity, target, [], .unlink, .danger, back: back, errors: errors)
    page.introduction = [.message(.unlinkIdentityText, ["issuer": .name(issuer)])]
    return page
  }

  package static func removeApplication(
    _ target: FormTarget, client: String, back: Destination
  ) -> Page {
    var page = change(.removeApplication, target, [], .remove, .danger, back: back)
    page.introduction = [.message(.removeApplicationText, ["client": .name(client)])]
    return page
  }

  /// Deletes the account after the user typed its address.
  package static func deleteAccount(
    _ target: FormTarget, email: String, download: Destination? = nil, back: Destination,
    errors: [PageError] = []
  ) -> Page {
    let label = Text.message(.typeAddress, ["email": .address(email)])
    let field = Field("confirmation", label, .text(autocomplete: "off"))
    var page = change(
      .deleteAccount, target, [field], .deleteForever, .danger, back: back, errors: errors
    )
    page.introduction = [.message(.deleteAccountIntroduction)]
    let consequences: [Text] = [.message(.deletesData), .message(.endsSessions)]
    page.body.insert(.list(Group(items: consequences)), at: 0)
    if let download {
      let link = Link(.message(.downloadFirst), to: download, download: "account.json")
      page.body.insert(.links([link]), at: 1)
    }
    return page
  }

  /// How a user confirms their identity.
  package enum ConfirmationMethod: Sendable {
    case password
    case mailCode(digits: Int)
    /// A code that the page offers to mail.
    case unsentMailCode
    case authenticator
    /// None here: the user signs in at an issuer, or by a passkey.
    case other
  }

  /// The ways to confirm beside the credential that a page asks for.
  package struct OtherConfirmations {
    /// The page of another method.
    package var page: Destination?
    /// The issuers that confirm the user.
    package var connections: [ConnectionButton]
    package var passkey: PasskeyForm?

    package init(
      page: Destination? = nil, connections: [ConnectionButton] = [], passkey: PasskeyForm? = nil
    ) {
      (self.page, self.connections, self.passkey) = (page, connections, passkey)
    }
  }

  /// Asks for a credential again before a sensitive change.
  ///
  /// - `email`: the address; empty for a user without one.
  /// - `resend`: sends a code by mail.
  /// - `others`: the other ways to confirm.
  /// - `another`: leads to a sign-in of another user.
  /// - `client`: the client that asks; nil for a change of the account.
  package static func confirmIdentity(
    _ target: FormTarget, email: String, method: ConfirmationMethod, resend: FormTarget? = nil,
    others: OtherConfirmations = OtherConfirmations(), another: FormTarget? = nil,
    client: String? = nil, cancel: FormTarget? = nil, errors: [PageError] = []
  ) -> Page {
    var page = Page(title: .confirmIdentity)
    let asked = client.map { Text.message(.confirmIdentityToClient, ["client": .name($0)]) }
    page.introduction = [asked ?? .message(.confirmIdentityIntroduction)]
    page.errors = errors
    var fields = email.isEmpty ? [] : [Field.fixedEmail(email)]
    switch method {
    case .password: fields.append(.currentPassword)
    case .mailCode(let digits):
      page.notices = [Notice(.information, .message(.codeSentToYou, ["email": .address(email)]))]
      fields.append(.code(digits: digits, hint: .message(.mailCodeHint)))
    case .unsentMailCode, .other: fields = []
    case .authenticator:
      fields.append(.code(digits: appCodeLength, hint: .message(.authenticatorCodeHint)))
    }
    if !fields.isEmpty {
      page.body = [.form(Form(target, fields: fields, buttons: [Button(.message(.confirm))]))]
    }
    let label: MessageKey =
      switch method {
      case .password, .authenticator: .mailCodeInstead
      case .mailCode: .sendNewCode
      case .unsentMailCode, .other: .sendCode
      }
    var wait: Duration?
    if case .mailCode = method, errors.isEmpty { wait = resendWait }
    page.add(label, resend, fields.isEmpty ? .primary : .secondary, wait: wait)
    page.add(others.passkey)
    page.add(others.connections)
    page.add(.cancel, cancel)
    page.add(.useOtherMethod, to: others.page)
    page.add(.useAnotherAccount, another, .plain)
    return page
  }

  private static func change(
    _ title: MessageKey, _ target: FormTarget, _ fields: [Field], _ button: MessageKey,
    _ style: Button.Style = .primary, back: Destination, errors: [PageError] = []
  ) -> Page {
    asking(title, target, fields, button, style, errors: errors).inAccount(back: back)
  }
}
