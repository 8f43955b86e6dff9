import Tenancy
import ReferenceData
import Runtime

struct EnglishMails: MailCatalog {
  let language = Language.english.rawValue

  func texts(of kind: MailKind) -> (subject: String, text: String) {
    switch kind {
    case .token(.verify):
      (
        "Verify your address for {{app}}",
        """
        Open this link within a day, and sign in:

        {{link}}

        This verifies the address of your {{app}} account.

        Not you? Ignore this email.

        """
      )
    case .token(.reset):
      (
        "Reset your {{app}} password",
        """
        Open this link within an hour, and choose a new password:

        {{link}}

        Nothing changes until then.

        Not you? Ignore this email.

        """
      )
    case .taken:
      (
        "You have a {{app}} account",
        """
        Someone tried to use this address at {{app}}, where you have an account.

        If it was you, sign in as before, or reset your password.

        Not you? Ignore this email. Your account is unchanged.

        """
      )
    case .unknown:
      (
        "Sign-in attempt at {{app}}",
        """
        Someone tried to sign in to {{app}} with this address, or to reset its password. No account there has this address.

        If it was you, try another address.

        Not you? Ignore this email.

        """
      )
    case .change:
      (
        "{{title}}",
        """
        {{change}}

        Time: {{time}}.

        If it was you, ignore this email.

        Not you? {{advice}}

        """
      )
    case .token(.restore):
      (
        "Your {{app}} address was changed",
        """
        This is not the address of your account at {{app}} any more. It was changed or removed.

        If it was you, ignore this email.

        Not you? Open this link within a week. It restores the address, lets you choose a new password and signs out everyone else:

        {{link}}

        """
      )
    case .code:
      (
        "{{title}}",
        """
        Enter this code where you asked for it:

        {{code}}

        It works once, within 10 minutes. Do not pass it on.

        Request: {{time}}, {{device}}.

        Not you? Ignore this email.

        """
      )
    }
  }

  func label(of purpose: EmailToken.Purpose) -> String {
    switch purpose {
    case .verify: "Verify address"
    case .reset: "Choose a new password"
    case .restore: "Restore address"
    }
  }

  func title(of code: CodePurpose, _ app: String) -> String {
    switch code {
    case .signIn: "Your \(app) sign-in code"
    case .registration: "Verify your address for \(app)"
    case .newAddress: "Verify your new address for \(app)"
    case .newPassword: "Choose a new \(app) password"
    }
  }

  func device(_ name: BrowserName?) -> String {
    switch (name?.browser, name?.system) {
    case (let browser?, let system?): "\(browser) on \(system)"
    case (let name?, nil), (nil, let name?): name
    case (nil, nil): "an unknown device"
    }
  }

  func notice(
    of change: SecurityNotice, on device: String, _ app: String
  ) -> (title: String, text: String) {
    switch change {
    case .linked(let provider):
      (
        "Sign-in method added at \(app)",
        "\(name(of: provider)) can be used from now on to sign in to your account."
      )
    case .unlinked(let provider):
      (
        "Sign-in method removed at \(app)",
        "\(name(of: provider)) can no longer be used to sign in to your account."
      )
    case .keyDisabled:
      ("API key disabled at \(app)", "An API key of your account was disabled.")
    case .keyEnabled:
      (
        "API key enabled at \(app)",
        "An API key of your account that was disabled can be used again."
      )
    case .emailVerified:
      ("Your \(app) address was verified", "This address was verified for your account.")
    case .takenOver:
      (
        "Your \(app) address was verified",
        "This address is now verified. Before that, another person may have created "
          + "the account. All sessions, the password and all other credentials were revoked. The "
          + "data of the account is still there."
      )
    case .passwordChanged:
      ("Your \(app) password was changed", "The password of your account was changed.")
    case .passwordReset:
      (
        "Your \(app) password was changed",
        "Someone chose a new password for your account, with a link that was mailed to this address."
      )
    case .passwordSet:
      (
        "Your \(app) password was changed",
        "The operator of \(app) set a new password for your account."
      )
    case .emailReplaced:
      (
        "Your \(app) address was changed",
        "The operator of \(app) set another address for your account."
      )
    case .emailRestored:
      (
        "Your \(app) address was restored",
        "Someone used a link that was mailed to this address. It is the address of your account "
          + "again, with a new password. All other ways to sign in were removed."
      )
    case .emailDisplaced:
      (
        "Your \(app) address was changed",
        "This is not the address of your account any more. Someone used a link that was mailed to "
          + "the previous address, and restored it with a new password. All other ways to sign in "
          + "were removed."
      )
    case .factorAdded:
      (
        "Second factor added at \(app)",
        "A second factor was added to your account: each sign-in asks for its code from now on. All "
          + "other sessions were signed out."
      )
    case .factorRemoved:
      (
        "Second factor removed at \(app)",
        "A second factor was removed from your account: its codes are not accepted any more."
      )
    case .secondFactorsRemoved:
      (
        "Second factor removed at \(app)",
        "The operator of \(app) removed the second factors of your account. A sign-in does not "
          + "ask for a code any more."
      )
    case .recoveryCodesMade:
      (
        "New recovery codes for \(app)",
        "New recovery codes were made for your account. Earlier codes no longer work."
      )
    case .signedIn:
      (
        "New sign-in to \(app)",
        "Someone signed in to your account on a device that is new to it: \(device)."
      )
    case .deleted:
      ("Your \(app) account was deleted", "Your account was deleted, with all its data.")
    }
  }

  private func name(of provider: IdentityProvider) -> String {
    switch provider {
    case .password, .linkedPassword: "An email address with a password"
    case .email: "An email address"
    case .apiKey: "An API key"
    case .anonymous, .issuer: "An identity of \(provider.issuer ?? provider.text)"
    }
  }

  func advice(_ remedy: SecurityNotice.Remedy, _ app: String) -> String {
    switch remedy {
    case .reset:
      "Reset the password with this address. That ends all sessions and all API keys. Then remove "
        + "the identities that you do not know."
    case .contact: "Contact the operator of \(app). You cannot undo it yourself."
    }
  }
}
