import Localization
internal import Mustache

/// Turns a page into the values of the templates.
///
/// A missing value is `false`. Without it, the template would find the value of the same name in an
/// outer section.
struct PageView {
  typealias Values = [String: Any]

  let catalog: Catalog
  let app: String
  private var rows = 0

  init(catalog: Catalog, app: String) {
    self.catalog = catalog
    self.app = app.withoutControls
  }

  // MARK: Texts

  private func parts(of text: Text) -> [TextPart] {
    switch text {
    case .message(let key, let arguments):
      catalog.parts(of: key, arguments.merging(["app": .name(app)]) { own, _ in own })
    case .name(let name): [.name(name.withoutControls)]
    }
  }

  func plain(_ text: Text) -> String { parts(of: text).map(\.text).joined() }

  func plain(_ key: MessageKey) -> String { plain(.message(key)) }

  func value(of text: Text) -> Values {
    let parts = parts(of: text).map { part -> Values in
      switch part {
      case .words(let words): ["words": words, "bdi": false]
      case .name(let name): ["words": false, "bdi": name]
      }
    }
    return ["parts": parts]
  }

  private func link(_ link: Link) -> Values {
    [
      "url": link.destination.text, "text": value(of: link.text),
      "download": link.download ?? false, "style": link.style?.rawValue ?? false,
    ]
  }

  // MARK: The page

  mutating func values(of page: Page, _ context: PageContext) -> Values {
    let isError = page.isError || !page.errors.isEmpty
    let title = Text.message(
      isError ? .errorPageTitle : .pageTitle, ["page": .name(plain(page.title))]
    )
    var values: Values = [
      "language": catalog.language, "direction": catalog.direction.rawValue,
      "title": plain(title), "layout": page.layout.rawValue, "app": app,
      "heading": value(of: page.heading), "back": page.back.map(link) ?? false,
      "introduction": page.introduction.map(value),
      "notices": page.notices.map { ["kind": $0.kind.rawValue, "text": value(of: $0.text)] },
      "summary": !page.errors.isEmpty, "summaryTitle": plain(.errorSummary),
      "errors": page.errors.map { error -> Values in
        ["target": error.field?.text ?? false, "text": value(of: error.text)]
      },
      "errorLabel": plain(.errorLabel),
      "hasLanguages": !context.languages.isEmpty, "languagesLabel": plain(.languages),
      "languages": context.languages.map { link -> Values in
        [
          "url": link.destination.text, "tag": link.catalog.language,
          "name": link.catalog.text(of: .languageName),
          "current": link.catalog.language == catalog.language,
        ]
      },
      "hasFooter": !context.footer.isEmpty, "footer": context.footer.map(link),
      "printed": context.printed.map(plain) ?? false,
      "refresh": false, "submit": false, "post": false, "message": false, "noScript": false,
    ]
    // Only the first one counts, and an error comes before a field.
    var focus = page.errors.isEmpty
    values["body"] = page.body.map { element($0, page.errors, &focus) }
    switch page.automation {
    case .refresh(let destination): values["refresh"] = destination.text
    case .submit(let nonce): values["submit"] = nonce.text
    case .post(let message, let nonce):
      values["post"] = nonce.text
      values["message"] = ["origin": message.origin.text, "json": message.json]
      values["noScript"] = plain(.noScript)
    case nil: break
    }
    return values
  }

  private mutating func element(
    _ element: Page.Element, _ errors: [PageError], _ focus: inout Bool
  ) -> Values {
    var values: Values = [
      "form": false, "links": false, "paragraphs": false, "subheading": false, "list": false,
      "rows": false, "accounts": false, "person": false, "codes": false, "key": false,
      "qrCode": false, "picture": false,
    ]
    switch element {
    case .form(let form): values["form"] = self.form(form, errors, &focus)
    case .links(let links): values["links"] = ["items": links.map(link)]
    case .paragraphs(let texts): values["paragraphs"] = texts.map(value)
    case .subheading(let text): values["subheading"] = value(of: text)
    case .list(let group):
      let heading: Any = group.heading.map(value) ?? false
      values["list"] = ["listHeading": heading, "items": group.items.map(value)] as Values
    case .rows(let rows): values["rows"] = ["items": rows.map { row($0) }]
    case .accounts(let choices): values["accounts"] = ["items": choices.map { account($0) }]
    case .person(let person): values["person"] = self.person(person)
    case .codes(let codes): values["codes"] = ["items": codes]
    case .key(let label, let text): values["key"] = ["label": plain(label), "key": text]
    case .qrCode(let code, let label):
      values["qrCode"] =
        ["label": plain(label), "width": code.size + 2 * QRCode.margin, "path": code.path] as Values
    case .picture(let picture):
      values["picture"] = [
        "source": picture.source.destination.text, "alternative": plain(picture.alternative),
      ]
    }
    return values
  }

  // MARK: Rows

  private func person(_ person: Person) -> Values {
    let lines = [person.name, person.email].compactMap(\.self).map(\.withoutControls)
      .filter { !$0.isEmpty }
    return [
      "image": person.picture?.destination.text ?? false,
      "initial": person.initialSource?.withoutControls.first.map { $0.uppercased() } ?? "",
      "hasLines": !lines.isEmpty, "lines": lines, "state": false,
    ]
  }

  private mutating func row(_ row: Row) -> Values {
    rows += 1
    let id = "row-\(rows)"
    let actions = row.actions.enumerated().map { index, action -> Values in
      let own = "\(id)-\(index + 1)"
      switch action {
      case .link(let link):
        return [
          "actionLink": self.link(link).merging(["id": own, "rowID": id]) { own, _ in own },
          "form": false,
        ]
      case .button(let button, let target):
        let button = self.button(button, id: own, labelledBy: "\(own) \(id)")
        return ["actionLink": false, "form": form(target, button)]
      }
    }
    return [
      "rowID": id, "label": value(of: row.label), "badge": row.badge.map(value) ?? false,
      "badgeKind": row.isWarning ? "warning" : "success",
      "rowPerson": row.person.map(person) ?? false, "values": row.values.map(value),
      "actions": actions,
    ]
  }

  private mutating func account(_ choice: AccountChoice) -> Values {
    rows += 1
    let id = "row-\(rows)"
    var values = person(choice.person)
    if values["hasLines"] as? Bool == false {
      let name = plain(.accountWithoutName)
      values["lines"] = [name]
      values["initial"] = String(name.prefix(1))
      values["hasLines"] = true
    }
    values["rowID"] = id
    values["action"] = choice.choice.action.text
    values["hidden"] = hidden(choice.choice.hidden)
    values["state"] = choice.isSignedOut ? plain(.signedOutAccount) : false
    values["removal"] =
      choice.removal.map { target in
        let label = Text.message(choice.isSignedOut ? .remove : .signOut)
        let own = "\(id)-1"
        return form(
          target, button(Button(label, style: .plain), id: own, labelledBy: "\(own) \(id)")
        )
      } ?? false
    return values
  }
}

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
