import Localization

// The parts of a page that lead to the sign-in at other issuers.
extension PageView {
  /// The number of buttons up to which a page shows all of them.
  private static let shownConnections = 6

  /// The divider above other ways to do what a page asks for.
  var divider: Markup { #"<p class="or">\#(plain(.or))</p>"# }

  /// Returns the buttons of issuers; those after the first ones can be unfolded.
  func connections(_ buttons: [ConnectionButton], areAlternatives: Bool) -> Markup {
    let isLong = buttons.count > Self.shownConnections
    let shown = isLong ? buttons.prefix(Self.shownConnections - 1) : buttons[...]
    let rest = buttons.dropFirst(shown.count)
    let more: Markup? =
      rest.isEmpty
      ? nil
      : """
      <details class="more"\(if: rest.contains { $0.isLastUsed }, " open")>
      <summary>\(plain(.moreSignInMethods))</summary>
      \(list(rest))
      </details>
      """
    return """
      \(if: areAlternatives, "\(divider)\n")\(list(shown))
      \(more)
      """
  }

  private func list(_ buttons: ArraySlice<ConnectionButton>) -> Markup {
    let items = buttons.map { button -> Markup in
      let badge: Markup? =
        button.isLastUsed ? #" <span class="last">\#(plain(.lastUsed))</span>"# : nil
      return """
        <li><a class="\(button.mark.rawValue)" href="\(button.destination.text)">\
        \(mark(button.mark, of: button.label))<span>\
        \(words(.message(.continueWith, ["issuer": .name(button.label)])))</span>\(badge)</a></li>

        """
    }
    return """
      <ul class="connections">
      \(items)</ul>
      """
  }

  /// Returns the mark of an issuer, or the initial of its label.
  func mark(_ mark: ConnectionMark, of label: String) -> Markup {
    mark.markup ?? #"<span class="brand" aria-hidden="true">\#(initial(of: label))</span>"#
  }
}
