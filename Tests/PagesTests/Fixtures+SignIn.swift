import Localization
import Testing

@testable import Localization
@testable import Pages

extension Fixtures {
  private var attempts: PageError { .form(.attempts, 754) }
  private var wait: PageWait {
    PageWait(check: Self.path("/u/t/0123/waiting"), next: Self.path("/u/t/0123/resume"))
  }

  var signInPages: [(name: String, page: Page)] {
    let signUp = Self.link("/u/t/0123/sign-up")
    let reset = Self.link("/u/t/0123/reset")
    return [
      ("sign-in", .signIn(target(), signUp: signUp)),
      ("sign-in-client", .signIn(target(), email: email, client: text("Contoso Mail"))),
      ("sign-in-missing", .signIn(target(), signUp: signUp, errors: [.form(.emailMissing)])),
      (
        "sign-in-malformed",
        .signIn(
          target(), email: text("ada@"), signUp: signUp, errors: [.form(.emailMalformed), attempts]
        )
      ),
      (
        "password",
        .password(
          target(), email: email, change: Self.link("/u/t/0123"), reset: reset, mailCode: target()
        )
      ),
      (
        "password-wrong",
        .password(
          target(), email: email, change: Self.link("/u/t/0123"), reset: reset, mailCode: target(),
          errors: [.form(.signInWrong, link: Link(.message(.resetPassword), to: reset))]
        )
      ),
      (
        "password-missing",
        .password(
          target(), email: email, change: Self.link("/u/t/0123"),
          errors: [.form(.passwordMissing), attempts]
        )
      ),
    ] + codePages + signUpPages + recoveryPages
  }

  private var codePages: [(name: String, page: Page)] {
    let change = Self.link("/u/t/0123")
    let plain = Page.MailCodePurpose.allCases.map { purpose in
      (
        "mail-code-\(purpose)",
        Page.mailCode(
          target(), email: email, for: purpose, digits: 8, change: change, resend: target(),
          password: Self.link("/u/t/0123/password")
        )
      )
    }
    let errors: [PageError] = [
      .form(.codeMalformed, 8), .form(.mailCodeWrong, 4), .form(.codeExpired), .form(.codeAttempts),
    ]
    let wrong = errors.enumerated().map { index, error in
      (
        "mail-code-error-\(index)",
        Page.mailCode(
          target(), email: email, for: .signIn, digits: 8, change: change, resend: target(),
          errors: [error]
        )
      )
    }
    return plain + wrong + [
      ("second-factor", .secondFactor(target(), recoveryCode: change, cancel: target())),
      (
        "second-factor-wrong",
        .secondFactor(target(), recoveryCode: change, errors: [.form(.authenticatorCodeWrong)])
      ),
      ("recovery-code", .recoveryCode(target(), authenticator: change, cancel: target())),
      (
        "recovery-code-wrong",
        .recoveryCode(target(), authenticator: change, errors: [.form(.recoveryCodeWrong)])
      ),
    ]
  }

  private var signUpPages: [(name: String, page: Page)] {
    let errors: [PageError] = [
      .form(.emailMissing),
      .form(.emailTaken, link: Link(.message(.signIn), to: Self.link("/u/t/0123"))),
      .form(.newPasswordMissing), .form(.passwordShort, 15),
      .form(.passwordCommon),
    ]
    let terms = Self.link("/terms")
    return [
      (
        "sign-up",
        Page.signUp(target(), minimumPassword: 15, signIn: Self.link("/u/t/0123"), terms: terms)
      )
    ]
      + errors.enumerated().map { index, error in
        (
          "sign-up-error-\(index)",
          Page.signUp(
            target(), email: email, minimumPassword: 15, signIn: Self.link("/u/t/0123"),
            terms: terms, errors: [error]
          )
        )
      }
  }

  private var recoveryPages: [(name: String, page: Page)] {
    let done = Page.CompletedTask.allCases.map { task in
      ("done-\(task)", Page.done(task, next: .next(.backToApp, to: Self.link("/"))))
    }
    return done + [
      ("reset", .resetRequest(target(), signIn: Self.link("/u/t/0123"))),
      (
        "reset-missing",
        .resetRequest(target(), signIn: Self.link("/u/t/0123"), errors: [.form(.emailMissing)])
      ),
      (
        "reset-sent",
        .mailSent(
          .resetSent, done: .resetDone, email: email, again: target(),
          signIn: Self.link("/u/t/0123"), waiting: wait
        )
      ),
      (
        "verification-sent",
        .mailSent(
          .verificationSent, done: .verificationDone, email: email, again: target(),
          waiting: wait, errors: [attempts]
        )
      ),
      ("new-password", .newPassword(target(), email: email, minimumPassword: 8)),
      (
        "new-password-short",
        .newPassword(target(), email: email, minimumPassword: 8, errors: [.form(.passwordShort, 8)])
      ),
      (
        "confirm-address",
        .confirmAddress(target(), email: email, asksForPassword: true, disown: target())
      ),
      (
        "confirm-address-wrong",
        .confirmAddress(
          target(), email: email, asksForPassword: true, disown: target(),
          errors: [.form(.passwordWrong)]
        )
      ),
      ("confirm-address-session", .confirmAddress(target(), email: email, asksForPassword: false)),
      (
        "restore-address",
        .restoreAddress(
          target(), email: email, minimumPassword: 8, errors: [.form(.passwordPersonal)]
        )
      ),
    ]
  }
}
