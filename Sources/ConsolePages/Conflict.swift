import Documents
package import JSON
package import Pages

/// The view of a document that someone else has saved meanwhile.
package struct Conflict: Sendable {
  /// The name of the document, such as `user_metadata`.
  package let document: String
  /// The one who has saved, as the history names them; nil if it does not know.
  package let author: String?
  /// When; nil if the history does not know.
  package let time: String?
  package let base: JSON
  package let theirs: JSON
  /// The own text, as JSON.
  package let mine: JSON

  package init(
    document: String, author: String?, time: String?, base: JSON, theirs: JSON, mine: JSON
  ) {
    (self.document, self.author, self.time) = (document, author, time)
    (self.base, self.theirs, self.mine) = (base, theirs, mine)
  }

  /// The proposed text.
  package var merged: JSON { DocumentMerge(base: base, theirs: theirs, mine: mine).merged }

  /// Returns the id of the heading of a document's card, to which its error links.
  package static func heading(of document: String) -> String { "conflict-\(document)" }

  /// Returns the card above the form, with the buttons that fill it.
  ///
  /// - Parameter field: the name of the buttons; their values are `merged`, `theirs` and `mine`.
  /// - Returns: the card.
  package func markup(choosingIn field: String) -> Markup {
    let merge = DocumentMerge(base: base, theirs: theirs, mine: mine)
    let who: Markup = author.map { "saved by \(Part.address($0))" } ?? "saved by someone else"
    let when: Markup? = time.map { " at \(Part.time($0))" }
    let more: [Markup] = merge.hasMore ? ["<li>further members</li>"] : []
    let both = merge.conflicts.map { "<li><code>\($0)</code></li>" as Markup } + more
    let list: Markup =
      both.isEmpty
      ? Part.paragraph("No member was changed by both of you.")
      : """
      <p>Both of you changed these members. The merged text has your values:</p>\
      <ul class="pointers">\(both)</ul>
      """
    func button(_ label: String, _ value: String, _ style: Button.Style) -> Markup {
      Part.submit(label, style, value: HiddenField(field, value))
    }
    return """
      <section class="card conflict" aria-labelledby="\(Self.heading(of: document))">\
      <h2 id="\(Self.heading(of: document))" tabindex="-1">\(document): \(who)\(when)</h2>\
      <h3>What they changed</h3>\
      \(Difference(from: base.edited, to: theirs.edited).markup(label: "What they changed"))\
      <h3>Proposed merge</h3>\(list)\
      \(Difference(from: theirs.edited, to: merge.merged.edited).markup(label: "Proposed merge"))\
      <p class="muted">Each button only fills the form below. Then choose Save.</p>\
      <div class="buttons">\(button("Use the merged text", "merged", .primary))\
      \(button("Use theirs", "theirs", .secondary))\(button("Keep mine", "mine", .secondary))</div>\
      </section>
      """
  }
}
