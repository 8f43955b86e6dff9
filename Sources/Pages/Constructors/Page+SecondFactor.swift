import Localization

extension Page {
  /// The digits of a code of an authenticator app.
  static let appCodeLength = 6

  /// Offers to set up an authenticator app.
  ///
  /// It is a form, since a new secret is made.
  package static func offerAuthenticator(
    _ target: FormTarget, back: Destination, errors: [PageError] = []
  ) -> Page {
    var page = accountPage(.setUpAuthenticator, back: back)
    page.introduction = [.message(.setUpAuthenticatorText)]
    page.errors = errors
    page.add(.continue, target, .primary)
    return page
  }

  /// Offers to set up another authenticator app in place of the only second factor.
  package static func replaceAuthenticator(
    _ target: FormTarget, back: Destination, errors: [PageError] = []
  ) -> Page {
    var page = accountPage(.replaceAuthenticator, back: back)
    page.introduction = [.message(.replaceAuthenticatorText)]
    page.errors = errors
    page.add(.continue, target, .primary)
    return page
  }

  /// Shows the secret of an authenticator app, and asks for its first code.
  ///
  /// - `key`: the secret in base32.
  /// - `uri`: the provisioning URI, for the QR code and for apps on this device.
  /// - `person`: the user whose account it is.
  package static func setUpAuthenticator(
    _ target: FormTarget, key: String, uri: String, person: Person, cancel: FormTarget? = nil,
    errors: [PageError] = []
  ) -> Page {
    var page = Page(title: .setUpAuthenticator)
    page.introduction = [.message(.setUpAuthenticatorIntroduction)]
    page.errors = errors
    page.body.append(.person(person))
    if let link = Destination(otpauth: uri) {
      page.body.append(.phoneLink(Link(.message(.openAuthenticator), to: link, style: .secondary)))
    }
    // A URI may be too long for a QR code.
    if let code = QRCode(uri) { page.body.append(.qrCode(code, label: .message(.qrCode))) }
    let field = Field.code(digits: appCodeLength, hint: .message(.authenticatorCodeHint))
    page.body += [
      .key(label: .message(.authenticatorKey), text: Self.grouped(key)),
      .form(Form(target, fields: [field], buttons: [Button(.message(.turnOn))])),
    ]
    page.add(.cancel, cancel)
    return page
  }

  /// Shows recovery codes once.
  ///
  /// - `download`: serves the codes as a text file.
  package static func recoveryCodes(
    _ codes: [String], download: Destination? = nil, next: FormTarget
  ) -> Page {
    var page = Page(title: .saveRecoveryCodes)
    page.introduction = [.message(.saveRecoveryCodesIntroduction)]
    let link = download.map {
      Link(.message(.download), to: $0, download: "recovery-codes.txt", style: .secondary)
    }
    page.body = [.codes(codes, download: link)]
    page.add(.continueAfterSaving, next, .primary)
    return page
  }

  /// Returns the key in groups of four, which are easier to type.
  private static func grouped(_ key: String) -> String {
    key.enumerated().map { index, digit in
      index > 0 && index.isMultiple(of: 4) ? " \(digit)" : String(digit)
    }.joined()
  }
}
