/// The attributes of an input by its kind.
struct InputAttributes {
  var type = "text"
  var autocomplete: String?
  var mode: String?
  var accept: String?
  var capitalization = "none"
  var value: String?
  var isFixed = false
  var isText = true
  var isChecked = false

  init(_ field: Field) {
    value = field.value.isEmpty ? nil : field.value
    switch field.kind {
    case .email:
      type = "email"
      autocomplete = "username webauthn"
    case .newEmail:
      type = "email"
      autocomplete = "email"
    case .fixedEmail:
      type = "email"
      autocomplete = "username"
      isFixed = true
    case .currentPassword, .newPassword:
      type = "password"
      // A password is never sent back.
      value = nil
      if case .newPassword = field.kind {
        autocomplete = "new-password"
      } else {
        autocomplete = "current-password"
      }
    case .code:
      autocomplete = "one-time-code"
      mode = "numeric"
    case .recoveryCode: autocomplete = "off"
    case .text(let token):
      autocomplete = token.description
      if autocomplete == "name" { capitalization = "words" }
    case .picture:
      type = "file"
      accept = "image/jpeg,image/png,image/webp,image/heic"
      isText = false
      value = nil
    case .checkbox(let isChecked):
      type = "checkbox"
      isText = false
      value = "true"
      self.isChecked = isChecked
    case .choice, .timeZone: isText = false
    }
  }
}
