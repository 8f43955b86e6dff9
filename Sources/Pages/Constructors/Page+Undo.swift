package import Localization

extension Page {
  /// Shows what an undo of a session's writes puts back, and asks.
  ///
  /// - `undo`: undoes the writes; nil if there is nothing to undo.
  package static func undoSession(
    _ documents: [UndoDescription], undo: FormTarget?, back: Destination, errors: [PageError] = []
  ) -> Page {
    var page = accountPage(.undoSession, back: back)
    page.errors = errors
    if undo != nil { page.introduction = [.message(.undoSessionText)] }
    page.body = documents.flatMap(elements)
    guard let undo else {
      page.body.insert(.paragraphs([.message(.undoNothing)]), at: 0)
      return page
    }
    page.body.append(.form(Form(undo, buttons: [Button(.message(.undoTheseChanges))])))
    page.add(.cancel, to: back)
    return page
  }

  private static func elements(of document: UndoDescription) -> [Element] {
    var elements: [Element] = [.subheading(.message(document.name))]
    if !document.notes.isEmpty { elements.append(.paragraphs(document.notes.map { .message($0) })) }
    for list in document.lists where !list.members.isEmpty {
      if let heading = list.heading { elements.append(.paragraphs([.message(heading)])) }
      elements.append(
        .list(Group(items: list.members.map(\.text) + [list.more].compactMap(\.self))))
    }
    return elements
  }
}

/// The changes of an undo in one document, as its page shows them.
package struct UndoDescription: Sendable {
  /// The name of the document in words.
  package let name: MessageKey
  /// Sentences about the whole document, such as why it cannot be undone.
  package var notes: [MessageKey] = []
  package var lists: [List] = []

  package init(_ name: MessageKey) { self.name = name }

  /// Members with what happens to them.
  package struct List: Sendable {
    let heading: MessageKey?
    let members: [Member]
    /// The text for members that the list leaves out; nil if it has all.
    let more: Text?

    /// - Parameters:
    ///   - heading: what happens to the members; nil if the undo changes them.
    ///   - members: the members that the page shows.
    ///   - rest: how many the list leaves out.
    ///   - isPartial: whether there are more than are counted.
    package init(
      _ heading: MessageKey? = nil, _ members: [Member], rest: Int, isPartial: Bool
    ) {
      (self.heading, self.members) = (heading, members)
      let key: MessageKey = isPartial ? .undoneManyMore : .undoneMore
      more = rest > 0 || isPartial ? .message(key, ["count": .count(rest)]) : nil
    }
  }

  /// A member of a document; its values are words or names.
  package enum Member: Sendable {
    case change(String, now: Text, after: Text)
    case removal(String, now: Text)
    case creation(String, after: Text)
    /// A member that stays; nil if the page shows no value.
    case kept(String, now: Text?)

    fileprivate var text: Text {
      switch self {
      case .change(let name, let now, let after):
        .message(.undoneValue, ["name": .name(name), "now": .text(now), "after": .text(after)])
      case .removal(let name, let now):
        .message(.undoneRemoval, ["name": .name(name), "now": .text(now)])
      case .creation(let name, let after):
        .message(.undoneReturn, ["name": .name(name), "after": .text(after)])
      case .kept(let name, let now?):
        .message(.keptValue, ["name": .name(name), "now": .text(now)])
      case .kept(let name, nil): .name(name)
      }
    }
  }
}
