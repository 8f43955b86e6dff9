import Localization

extension PageView {
  /// Returns the form of a passkey, which the script shows.
  ///
  /// Without a script, the page has its other ways only.
  func passkey(_ form: PasskeyForm, isAlternative: Bool) -> Markup {
    let button = self.button(Button(.message(form.label), style: form.style, icon: .key))
    return """
      <div class="passkey" hidden>
      \(if: isAlternative, divider)
      <form method="post" action="\(form.target.action.text)" novalidate \
      data-passkey="\(form.kind.rawValue)" data-options="\(form.options)"\
      \(attribute: "data-exists", form.kind == .create ? plain(.passkeyOnDevice) : nil)\
      \(attribute: "data-renewal", form.renewal?.text)\(attribute: "data-unknown", form.unknown)\
      \(if: form.fillsAddress, " data-fills-address")>
      \(hidden(form.target.hidden))\
      \(hidden([HiddenField("passkey_flow", form.flow), HiddenField("credential", "")]))\
      <div class="buttons">\(button)</div>
      </form>
      \(if: form.isFirst, divider)
      </div>
      """
  }
}
