import Localization

// The parts of a page with a row for each user or value.
extension PageView {
  /// Returns the picture of a user, and lines with the name and the address.
  ///
  /// - `state`: a text below the lines, such as that the user is signed out; nil for the issuer.
  /// - `missing`: the line of a user without name and address; nil for no lines.
  func person(
    _ person: Person, state: String? = nil, missing: String? = nil
  ) -> Markup {
    let known = [person.name, person.email].compactMap(\.self).map(\.withoutControls)
      .filter { !$0.isEmpty }
    let lines = known.isEmpty ? [missing].compactMap(\.self) : known
    let letter = initial(of: person.initialSource)
    let picture: Markup =
      if let image = person.picture?.destination.text {
        #"<img class="avatar" src="\#(image)" alt="">"#
      } else if letter.isEmpty {
        #"<span class="avatar" aria-hidden="true">\#(Icon.person.markup)</span>"#
      } else {
        #"<span class="avatar" aria-hidden="true">\#(letter)</span>"#
      }
    guard !lines.isEmpty else { return picture }
    let state =
      state.map { state -> [Markup] in ["\(state)"] }
      ?? person.issuer.map { words(.message(.signedInWith, ["issuer": .name($0)])) }
    return """
      \(picture)<span class="lines">\(lines.map { "<bdi>\(breakable($0))</bdi>" })\
      \(state.map { #"<span class="state">\#($0)</span>"# })</span>
      """
  }

  mutating func row(_ row: Row) -> Markup {
    rows += 1
    let id = "row-\(rows)"
    let actions = row.actions.enumerated().map { index, action -> Markup in
      let own = "\(id)-\(index + 1)"
      switch action {
      case .link(let link):
        return """
          <a href="\(link.destination.text)" id="\(own)" \
          aria-labelledby="\(own) \(id)"\(attribute: "class", link.style?.rawValue)>\
          \(words(link.text))</a>
          """
      case .button(let button, let target):
        return form(target, self.button(button, own, labelledBy: id))
      }
    }
    let badge = row.badge.map { badge -> Markup in
      #"<span class="badge \#(row.isWarning ? "warning" : "success")">\#(words(badge))</span>"#
    }
    let values: [Markup] = row.values.map { "<span class=\"value\">\(words($0))</span>\n" }
    let picture = row.picture.map { self.person(Person(picture: $0)) }
    let isBare = values.isEmpty && badge == nil && picture == nil
    return """
      <div class="row">
      <dt id="\(id)">\(row.mark.map { mark($0, of: plain(row.label)) })\
      <span>\(words(row.label))</span></dt>
      \(if: !isBare, "<dd class=\"values\">\(picture)\(values)\(badge)</dd>")
      \(if: !actions.isEmpty, "<dd class=\"action\">\(actions)</dd>")
      </div>
      """
  }

  mutating func account(_ choice: AccountChoice) -> Markup {
    rows += 1
    let id = "row-\(rows)"
    let person = self.person(
      choice.person, state: choice.isSignedOut ? plain(.signedOutAccount) : nil,
      missing: plain(.accountWithoutName)
    )
    let removal = choice.removal.map { target in
      let label = Text.message(choice.isSignedOut ? .remove : .signOut)
      return form(target, button(Button(label, style: .plain), "\(id)-1", labelledBy: id))
    }
    return """
      <li>
      <form method="post" action="\(choice.choice.action.text)" novalidate>
      \(hidden(choice.choice.hidden))<button type="submit" class="account" id="\(id)">\
      <span class="person">\(person)</span></button>
      </form>
      \(removal)
      </li>
      """
  }
}
