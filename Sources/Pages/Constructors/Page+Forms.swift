import Localization

// The parts of most pages: a form of one button, further buttons, and links.
extension Page {
  /// Returns a page with a form of one button.
  static func asking(
    _ title: MessageKey, _ target: FormTarget, _ fields: [Field], _ button: MessageKey,
    _ style: Button.Style = .primary, errors: [PageError] = []
  ) -> Page {
    var page = Page(title: title)
    page.errors = errors
    let buttons = [Button(.message(button), style: style)]
    page.body = [.form(Form(target, fields: fields, buttons: buttons))]
    return page
  }

  /// Adds a button with a form of its own; nothing for nil.
  mutating func add(
    _ label: MessageKey, _ target: FormTarget?, _ style: Button.Style = .secondary,
    wait: Duration? = nil
  ) {
    guard let target else { return }
    body.append(.form(Form(target, buttons: [Button(.message(label), style: style, wait: wait)])))
  }

  /// Adds another way to do what the page asks for, below a divider; nothing for nil.
  mutating func addAlternative(_ label: MessageKey, _ target: FormTarget?) {
    guard let target else { return }
    let form = Form(target, buttons: [Button(.message(label), style: .secondary)])
    if case .alternatives(let forms) = body.last {
      body[body.count - 1] = .alternatives(forms + [form])
    } else {
      body.append(.alternatives([form]))
    }
  }

  /// Adds the buttons of issuers, below a divider if something stands above; nothing for none.
  mutating func add(_ connections: [ConnectionButton]) {
    guard !connections.isEmpty else { return }
    body.append(.connections(connections, areAlternatives: !body.isEmpty))
  }

  /// Adds a link; nothing for nil.
  mutating func add(_ label: MessageKey, to destination: Destination?) {
    guard let destination else { return }
    body.append(.links([Link(.message(label), to: destination)]))
  }
}
