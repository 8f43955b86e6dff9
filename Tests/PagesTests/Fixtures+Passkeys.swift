import Encoding

@testable import Localization
@testable import Pages

extension Fixtures {
  private func passkey(_ kind: PasskeyForm.Kind, _ label: MessageKey) -> PasskeyForm {
    var form = PasskeyForm(
      target("/u/t/0123/passkey"), kind, flow: text("c2VhbGVk"),
      options: text(#"{"challenge":"AAAA","rpId":"id.example"}"#), label: label)
    form.unknown = text("AAAA")
    form.renewal = Self.path("/v1/login/passkey/options")
    return form
  }

  var passkeyPages: [(name: String, page: Page)] {
    let day = CalendarDay(number: 20_000)
    let passkeys = [
      PasskeyDescription(
        name: text("Chrome, Linux"), madeOn: day, lastUsed: day,
        page: Self.path("/account/passkeys/0")),
      PasskeyDescription(
        name: text("iPhone"), madeOn: day, lastUsed: nil, page: Self.path("/account/passkeys/1")),
    ]
    let signIn = passkey(.get, .signInWithPasskey)
    var first = signIn
    (first.isFirst, first.style) = (true, .primary)
    return [
      ("sign-in-passkey", .signIn(target(), signUp: back, passkey: signIn)),
      (
        "sign-in-passkey-unknown",
        .signIn(target(), passkey: signIn, errors: [.form(.passkeyUnknown)])
      ),
      (
        "sign-in-passkey-first",
        .signIn(target(), signUp: back, passkey: first)
      ),
      (
        "sign-up-address",
        .signUp(target(), minimumPassword: nil, client: text("Contoso Mail"), signIn: back)
      ),
      (
        "sign-up-passkey-first",
        .signUpWithPasskey(
          passkey(.create, .signUpWithPasskey), email: email, change: back, password: back)
      ),
      ("password-passkey", .password(target(), email: email, change: back, passkey: signIn)),
      (
        "password-used-passkey",
        .password(target(), email: email, change: back, mailCode: target(), passkey: first)
      ),
      ("done-passkeys", .done(.passwordSaved, next: .next(.signIn, to: back), passkeys: 2)),
      (
        "done-passkeys-signed-in",
        .done(.passwordSaved, next: .next(.continue, to: back), passkeys: 1, isSignedIn: true)
      ),
      (
        "sign-up-passkey",
        .signUp(
          target(), minimumPassword: 8, signIn: back, passkey: passkey(.create, .signUpWithPasskey))
      ),
      ("factor-passkey", .secondFactor(target(), passkey: passkey(.get, .usePasskey))),
      (
        "factor-only-passkey",
        .secondFactor(nil, passkey: passkey(.get, .usePasskey), cancel: target())
      ),
      (
        "factor-new-passkey",
        .secondFactor(nil, newPasskey: passkey(.create, .addPasskey), cancel: target())
      ),
      (
        "factor-lost-passkey",
        .secondFactor(
          nil, passkey: passkey(.get, .usePasskey), newPasskey: passkey(.create, .addPasskey),
          cancel: target())
      ),
      (
        "passkey-offer",
        .offerPasskey(passkey(.create, .createPasskey), later: target(), never: target())
      ),
      ("passkeys", .passkeys(passkeys, add: back, back: back)),
      ("passkeys-none", .passkeys([], add: nil, back: back)),
      ("passkey-add", .addPasskey(passkey(.create, .addPasskey), back: back)),
      ("passkey", .passkey(target(), name: name, removal: target(), back: back)),
    ]
  }
}
