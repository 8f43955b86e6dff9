package import Localization

// The pages for a forgotten password, and those that the links of mails open.
extension Page {
  /// Asks for the address that gets a link to reset its password.
  package static func resetRequest(
    _ target: FormTarget, email: String = "", signIn: Destination, errors: [PageError] = []
  ) -> Page {
    var page = asking(.resetPassword, target, [.email(email)], .sendLink, errors: errors)
    page.introduction = [.message(.resetIntroduction)]
    page.add(.backToSignIn, to: signIn)
    return page
  }

  /// Reports that an email is on its way, whether or not a user has the address.
  ///
  /// - `message`: says which email, as `.resetSent` does.
  /// - `done`: the label of the link that continues, which says what the user has done.
  /// - `again`: sends another mail.
  /// - `waiting`: continues once the user has opened the link.
  package static func mailSent(
    _ message: MessageKey, done: MessageKey, email: String, again: FormTarget,
    signIn: Destination? = nil, waiting: PageWait, errors: [PageError] = []
  ) -> Page {
    var page = Page(title: .checkMail)
    page.symbol = .mail
    page.introduction = [.message(message, ["email": .address(email)]), .message(.mailSentNext)]
    page.errors = errors
    page.automation = .wait(waiting)
    page.body = [.links([.next(done, to: Destination(waiting.next))])]
    page.add(.sendAnotherMail, again, .plain, wait: errors.isEmpty ? resendWait : nil)
    page.add(.backToSignIn, to: signIn)
    return page
  }

  /// Asks for the new password, on the page of a mailed link.
  package static func newPassword(
    _ target: FormTarget, email: String, minimumPassword minimum: Int, errors: [PageError] = []
  ) -> Page {
    let fields: [Field] = [
      .fixedEmail(email), .newPassword(.nextPassword, minimum: minimum, isFocused: true),
    ]
    return asking(.chooseNewPassword, target, fields, .savePassword, errors: errors)
  }

  /// Verifies an address after its owner has opened the link of a mail.
  ///
  /// - `target`: posts the token; opening the page changes nothing, since scanners open links.
  /// - `asksForPassword`: false if the browser has the session of the user.
  /// - `disown`: leads a reader of the mail who did not sign up to a new password.
  package static func confirmAddress(
    _ target: FormTarget, email: String, asksForPassword: Bool, disown: FormTarget? = nil,
    errors: [PageError] = []
  ) -> Page {
    let fields: [Field] = asksForPassword ? [.fixedEmail(email), .currentPassword] : []
    var page = asking(.verifyAddress, target, fields, .confirmAddress, errors: errors)
    page.introduction = [.message(.confirmAddressIntroduction, ["email": .address(email)])]
    if disown != nil { page.body.append(.paragraphs([.message(.disownIntroduction)])) }
    page.add(.disown, disown)
    return page
  }

  /// Gives an account its former address back, with a new password.
  package static func restoreAddress(
    _ target: FormTarget, email: String, minimumPassword minimum: Int, errors: [PageError] = []
  ) -> Page {
    let fields: [Field] = [
      .fixedEmail(email), .newPassword(.nextPassword, minimum: minimum, isFocused: true),
    ]
    var page = asking(.restoreAddress, target, fields, .restoreAddress, errors: errors)
    page.introduction = [
      .message(.restoreAddressIntroduction, ["email": .address(email)]),
      .message(.restoreAddressEffect),
    ]
    return page
  }

  /// Reports that the sign-in is finished, perhaps in another tab.
  package static func signedIn(next: Link) -> Page {
    var page = Page(title: .signedIn)
    page.introduction = [.message(.signedInText)]
    page.body = [.links([next])]
    return page
  }

  /// Reports a completed task, such as a verified address.
  ///
  /// - `passkeys`: the number of passkeys that still sign in after a new password.
  /// - `isSignedIn`: whether the task has signed the user in.
  package static func done(
    _ task: CompletedTask, next: Link? = nil, passkeys: Int = 0, isSignedIn: Bool = false
  ) -> Page {
    let (title, text): (MessageKey, MessageKey) =
      switch task {
      case .addressConfirmed: (.addressConfirmed, .addressConfirmedText)
      case .alreadyVerified: (.alreadyVerified, .alreadyVerifiedText)
      case .addressRestored: (.addressRestored, .addressRestoredText)
      case .passwordSaved: (.passwordSaved, .passwordSavedText)
      case .accountDeleted: (.accountDeleted, .accountDeletedText)
      }
    var page = Page(title: title)
    page.symbol = .success
    page.introduction = isSignedIn ? [] : [.message(text)]
    if passkeys > 0 {
      page.introduction.append(.message(.passkeysLeft, ["count": .count(passkeys)]))
    }
    if let next { page.body = [.links([next])] }
    return page
  }

  /// A task that a page has completed, with its name in paths.
  package enum CompletedTask: String, Sendable, CaseIterable {
    case addressConfirmed = "address-confirmed"
    case alreadyVerified = "already-verified"
    case addressRestored = "address-restored"
    case passwordSaved = "password-saved"
    case accountDeleted = "account-deleted"
  }
}
