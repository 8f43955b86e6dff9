package import Pages

/// A field of a form, with its label, hint and error.
package struct ConsoleField: Sendable {
  package enum Kind: Sendable {
    case text
    case email
    case number
    case password(isNew: Bool)
    case code
    /// A day, such as 2026-11-27.
    case day
    /// A file; its form has one.
    case file
    /// Several lines.
    case lines
    case json
    case choice([(value: String, label: String)])
    /// Several of some words; the value has the chosen ones, with blanks between them.
    ///
    /// The box of each word is a field of its own, such as `scopes:read`.
    case choices([String])
    /// Several of some values, each with its label; the value is as that of `choices`.
    case ticks([(value: String, label: String)])
    /// A color, such as #1f57c3.
    case color
    case checkbox
  }

  package let name: String
  package let label: String
  /// The name that programs use, shown beside the label; nil for none.
  package var code: String?
  package let kind: Kind
  /// The value; of a checkbox, `true` if it is checked.
  package var value: String
  package var hint: Markup?
  /// Values to choose from, beside those that a person types.
  package var suggestions: [String] = []
  /// The error of the last form.
  package var mistake: String?
  package var isFocused = false

  package init(
    _ name: String, _ label: String, _ kind: Kind = .text, value: String = "", hint: Markup? = nil
  ) {
    (self.name, self.label, self.kind, self.value, self.hint) = (name, label, kind, value, hint)
  }

  /// Returns the field with its error among those of a form.
  package func with(_ mistakes: [Mistake]) -> ConsoleField {
    var field = self
    field.mistake = mistakes.first { $0.field == name }?.text
    return field
  }

  package var markup: Markup {
    let described =
      [hint == nil ? nil : "\(name)-hint", mistake == nil ? nil : "\(name)-error"]
      .compactMap(\.self).joined(separator: " ")
    let state: Markup = """
      \(attribute: "aria-describedby", described.isEmpty ? nil : described)\
      \(attribute: "aria-invalid", mistake == nil ? nil : "true")\(if: isFocused, " autofocus")
      """
    let hint = hint.map { #"<p class="hint" id="\#(name)-hint">\#($0)</p>"# as Markup }
    let error = mistake.map { text -> Markup in
      #"<p class="error" id="\#(name)-error"><span class="hidden">Error: </span>\#(text)</p>"#
    }
    let style = mistake == nil ? "" : " invalid"
    let label: Markup = "\(label)\(code.map { " <code>\($0)</code>" as Markup })"
    switch kind {
    case .checkbox:
      return """
        <div class="field checkbox\(style)"><input id="\(name)" name="\(name)" type="checkbox" \
        value="true"\(if: value == "true", " checked")\(state)><label for="\(name)">\(label)</label>\
        \(hint)\(error)</div>
        """
    case .choices, .ticks:
      let chosen = value.split(whereSeparator: \.isWhitespace).map(String.init)
      let boxes = options.map { option -> Markup in
        """
        <label class="choice"><input name="\(name):\(option.value)" type="checkbox" value="true"\
        \(if: chosen.contains(option.value), " checked")> \(option.label)</label>

        """
      }
      return """
        <fieldset class="field\(style)" id="\(name)"\(attribute: "aria-describedby",
          described.isEmpty ? nil : described)><legend>\(label)</legend>\(hint)\(error)\
        <div class="choices">\(boxes)</div></fieldset>
        """
    default:
      return """
        <div class="field\(style)"><label for="\(name)">\(label)</label>\(hint)\(error)\
        \(control(state))</div>
        """
    }
  }

  /// The values of several boxes.
  private var options: [(value: String, label: String)] {
    switch kind {
    case .choices(let words): words.map { ($0, $0) }
    case .ticks(let options): options
    default: []
    }
  }

  private func control(_ state: Markup) -> Markup {
    switch kind {
    case .choice(let options):
      let items = options.map { option -> Markup in
        """
        <option value="\(option.value)"\(if: option.value == value, " selected")>\(option.label)\
        </option>

        """
      }
      return """
        <span class="select"><select id="\(name)" name="\(name)"\(state)>
        \(items)</select></span>
        """
    case .lines, .json:
      var isJSON = false
      if case .json = kind { isJSON = true }
      let count = value.utf8.count { $0 == UInt8(ascii: "\n") } + 2
      let rows = max(isJSON ? 6 : 3, min(count, 24))
      // Browsers drop the first line break.
      return """
        <textarea id="\(name)" name="\(name)" rows="\(rows)" spellcheck="false" \
        autocapitalize="none" autocomplete="off"\(if: isJSON, #" class="json" dir="ltr""#)\(state)>
        \(value)</textarea>
        """
    default:
      let (type, completion, mode) = input
      var shown: String? = value
      switch kind {
      case .password, .file: shown = nil
      default: break
      }
      return """
        <input id="\(name)" name="\(name)" type="\(type)"\(attribute: "value", shown)\
        \(attribute: "autocomplete", completion)\(attribute: "inputmode", mode) \
        \(attribute: "list", suggestions.isEmpty ? nil : "\(name)-list")\(if: isColor, " data-color") \
        spellcheck="false" autocapitalize="none"\(state)>\(list)
        """
    }
  }

  private var isColor: Bool { if case .color = kind { true } else { false } }

  /// The suggestions; nil without any.
  private var list: Markup? {
    guard !suggestions.isEmpty else { return nil }
    let items = suggestions.map { #"<option value="\#($0)">"# as Markup }
    return #"<datalist id="\#(name)-list">\#(items)</datalist>"#
  }

  private var input: (type: String, completion: String?, mode: String?) {
    switch kind {
    case .email: ("email", "off", nil)
    case .number: ("text", "off", "numeric")
    case .password(let isNew):
      ("password", isNew ? "new-password" : "current-password", nil)
    case .day: ("date", nil, nil)
    case .file: ("file", nil, nil)
    case .code: ("text", "one-time-code", "numeric")
    default: ("text", "off", nil)
    }
  }
}

extension [ConsoleField] {
  /// Returns all fields, with the errors of a form.
  package func markup(_ mistakes: [Mistake]) -> Markup {
    "\(map { "\($0.with(mistakes).markup)\n" })"
  }
}
