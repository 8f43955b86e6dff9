import Localization

// The parts of a page with a row for each user or value.
extension PageView {
  /// Returns the picture of a user, and lines with the name and the address.
  ///
  /// - `state`: a text below the lines, such as that the user is signed out.
  /// - `missing`: the line of a user without name and address; nil for no lines.
  func person(
    _ person: Person, state: String? = nil, missing: String? = nil
  ) -> Markup {
    let known = [person.name, person.email].compactMap(\.self).map(\.withoutControls)
      .filter { !$0.isEmpty }
    let lines = known.isEmpty ? [missing].compactMap(\.self) : known
    let source = known.isEmpty ? missing ?? person.initialSource : person.initialSource
    let picture: Markup =
      if let image = person.picture?.destination.text {
        #"<img class="avatar" src="\#(image)" alt="">"#
      } else {
        #"<span class="avatar" aria-hidden="true">\#(initial(of: source))</span>"#
      }
    guard !lines.isEmpty else { return picture }
    return """
      \(picture)<span class="lines">\(lines.map { "<bdi>\($0)</bdi>" })\
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
          <dd class="action"><a href="\(link.destination.text)" id="\(own)" \
          aria-labelledby="\(own) \(id)"\(attribute: "class", link.style?.rawValue)>\
          \(words(link.text))</a></dd>
          """
      case .button(let button, let target):
        let form = self.form(target, self.button(button, own, labelledBy: id))
        return #"<dd class="action">\#(form)</dd>"#
      }
    }
    let badge = row.badge.map { badge -> Markup in
      #"<span class="badge \#(row.isWarning ? "warning" : "success")">\#(words(badge))</span>"#
    }
    return """
      <div class="row">
      <dt id="\(id)">\(words(row.label))</dt>
      <dd class="values">\(row.person.map { #"<span class="person">\#(person($0))</span>"# })
      \(row.values.map { "<span class=\"value\">\(words($0))</span>\n" })\(badge)</dd>
      \(actions)
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
