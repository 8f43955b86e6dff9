extension PageView {
  /// Returns the values of a form.
  ///
  /// - `focus`: whether a field may still take the focus.
  func form(_ form: Form, _ errors: [PageError], _ focus: inout Bool) -> Values {
    var values = self.form(
      action: form.action, form.hidden, form.buttons.map { button($0, id: nil, labelledBy: nil) }
    )
    values["equal"] = form.buttons.count > 1 && form.buttons.allSatisfy { $0.style == .secondary }
    values["fields"] = form.fields.map { field in
      let isFocused = focus && field.isFocused
      if isFocused { focus = false }
      return self.field(field, errors.first { $0.field == field.name }, isFocused: isFocused)
    }
    values["hasFile"] = form.fields.contains { field in
      if case .picture = field.kind { true } else { false }
    }
    return values
  }

  /// Returns the values of a form with one button and no fields.
  func form(_ target: FormTarget, _ button: Values) -> Values {
    form(action: Destination(target.action), target.hidden, [button])
  }

  private func form(action: Destination, _ hidden: [HiddenField], _ buttons: [Values]) -> Values {
    [
      "action": action.text, "hidden": self.hidden(hidden), "fields": [Values](),
      "buttons": buttons, "hasFile": false, "equal": false,
    ]
  }

  func hidden(_ fields: [HiddenField]) -> [Values] {
    fields.map { ["name": $0.name, "value": $0.value] }
  }

  func button(_ button: Button, id: String?, labelledBy: String?) -> Values {
    let submitted: Any =
      button.value.map { ["name": $0.name, "value": $0.value] } ?? false
    return [
      "label": value(of: button.label), "style": button.style.rawValue, "submitted": submitted,
      "id": id ?? false, "labelledBy": labelledBy ?? false,
    ]
  }

  private func field(_ field: Field, _ error: PageError?, isFocused: Bool) -> Values {
    let id = field.name.text
    var described: [String] = []
    if field.hint != nil { described.append("\(id)-hint") }
    if error != nil { described.append("\(id)-error") }
    let input = InputAttributes(field.kind)
    var values: Values = [
      "id": id, "label": value(of: field.label), "hint": field.hint.map(value) ?? false,
      "invalid": error != nil, "error": error.map { value(of: $0.text) } ?? false,
      "describedBy": described.isEmpty ? false : described.joined(separator: " "),
      "autofocus": isFocused, "type": input.type, "autocomplete": input.autocomplete ?? false,
      "inputMode": input.mode ?? false, "fixed": input.isFixed, "isText": input.isText,
      "capitalization": input.isName ? "words" : "none", "accept": input.accept ?? false,
      "checkbox": input.type == "checkbox", "checked": false, "choice": false, "reveal": false,
      "hasValue": input.isText && !field.value.isEmpty, "value": field.value,
    ]
    values["link"] =
      field.link.map { link in
        ["url": link.destination.text, "text": value(of: link.text), "id": id] as Values
      } ?? false
    switch field.kind {
    case .checkbox(let isChecked):
      values["checked"] = isChecked
      values["hasValue"] = true
      values["value"] = "true"
    case .choice(let options):
      let options = options.map { option -> Values in
        [
          "value": option.value, "optionLabel": plain(option.label),
          "selected": option.value == field.value,
        ]
      }
      values["choice"] = ["options": options]
    case .currentPassword, .newPassword:
      // A password is never sent back.
      values["hasValue"] = false
      values["reveal"] = [
        "show": plain(.showPassword), "hide": plain(.hidePassword),
        "shown": plain(.passwordShown), "hiddenAgain": plain(.passwordHidden),
      ]
    default: break
    }
    return values
  }
}

/// The attributes of an input by its kind.
private struct InputAttributes {
  var type = "text"
  var autocomplete: String?
  var mode: String?
  var accept: String?
  var isFixed = false
  var isText = true
  var isName = false

  init(_ kind: Field.Kind) {
    switch kind {
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
    case .currentPassword:
      type = "password"
      autocomplete = "current-password"
    case .newPassword:
      type = "password"
      autocomplete = "new-password"
    case .code:
      autocomplete = "one-time-code"
      mode = "numeric"
    case .recoveryCode: autocomplete = "off"
    case .text(let token):
      autocomplete = token.description
      isName = autocomplete == "name"
    case .picture:
      type = "file"
      accept = "image/jpeg,image/png,image/webp,image/heic"
      isText = false
    case .checkbox:
      type = "checkbox"
      isText = false
    case .choice: isText = false
    }
  }
}
