import Documents
import EventLoop
import HTTP
import HostedPages
import JSON
import Localization
import OpenID
import Pages
import Runtime
import Sessions
import WireKit

/// The undo of what a session has written: `/account/sessions/{session}/undo`.
@EventLoop enum UndoPages {
  private nonisolated static let path = "\(SessionPages.path)/{session}/undo"
  private nonisolated static let list = LocalPath(checked: SessionPages.path)
  /// The documents that users write, with the words for their names.
  private nonisolated static let names: [(kind: DocumentKind, name: MessageKey)] = [
    (.metadata, .settingsDocument), (.customData, .appDocument),
  ]

  nonisolated static let routes = [
    AccountVisit.show(path, isFresh: true, "Show what an undo of a session's writes puts back") {
      (visit) async throws(Failure) in
      do throws(Failure) {
        return try await show(visit)
      } catch .notFound {
        return visit.call.redirect(to: list)
      }
    },
    AccountVisit.handle(path, isFresh: true, isOnce: true, "Undo what a session has written") {
      (visit, form) async throws(Failure) in
      do throws(Failure) {
        return try await undo(visit, form)
      } catch .notFound {
        return visit.call.redirect(to: list)
      }
    },
  ]

  /// Returns the path of the page of a session.
  nonisolated static func path(of session: SessionID) -> LocalPath {
    LocalPath(checked: "\(SessionPages.path)/\(session)/undo")
  }

  private static func show(_ visit: AccountVisit) async throws(Failure) -> Response {
    let session: SessionID = try visit.call.captured("session")
    let undos = try await SessionUndo.preview(of: session, of: visit.user, visit.context)
    let hidden = undos.filter(\.isPossible).map {
      HiddenField($0.kind.rawValue, String($0.version))
    }
    let documents = names.compactMap { document in
      undos.first { $0.kind == document.kind }.map { description(of: $0, document.name) }
    }
    return visit.response(
      with: .undoSession(
        documents, undo: hidden.isEmpty ? nil : visit.target(path(of: session), hidden),
        back: Destination(list), errors: visit.state.errors.pageErrors))
  }

  private static func undo(
    _ visit: AccountVisit, _ form: FormValues
  ) async throws(Failure) -> Response {
    let session: SessionID = try visit.call.captured("session")
    let choices = names.compactMap { document in
      form[document.kind.rawValue].flatMap { Int($0) }.map {
        SessionUndo.Choice(document.kind, version: $0, conflicts: [])
      }
    }
    let errors = try await visit.call.errors(wrong: .changedMeanwhile) { () async throws(Failure) in
      _ = try await SessionUndo.apply(choices, of: session, of: visit.user, visit.context)
    }
    return try visit.response(
      to: errors, of: path(of: session), next: list, notice: .changesUndone)
  }

  private static func description(of undo: DocumentUndo, _ name: MessageKey) -> UndoDescription {
    var description = UndoDescription(name)
    switch undo.obstacle {
    case .historyGone: description.notes = [.undoHistoryGone]
    case .tooLarge: description.notes = [.undoTooLarge]
    case .schemaMismatch: description.notes = [.undoMismatch]
    case nil:
      if undo.outcome == .deleted { description.notes = [.undoDeletion] }
      if undo.outcome == .created { description.notes = [.undoCreation] }
    }
    if undo.obstacle == nil {
      var changes = UndoneMembers()
      for change in undo.changes {
        changes.add(change.pointer, now: change.now, after: change.after)
      }
      description.lists = [changes.list(isPartial: undo.hasMore)]
    }
    var conflicts = UndoneMembers()
    for conflict in undo.conflicts { conflicts.keep(conflict.pointer, conflict.now) }
    var others = UndoneMembers()
    for pointer in undo.notWritable { others.keep(pointer, nil) }
    description.lists += [conflicts.list(.undoConflicts), others.list(.undoNotWritable)]
    if !undo.isComplete { description.notes.append(.undoIncomplete) }
    return description
  }
}

extension DocumentUndo {
  /// Whether the undo changes the document.
  fileprivate var isPossible: Bool { obstacle == nil && outcome != .unchanged }
}

// MARK: - Members in words

/// The members of a document as people read them: nested ones have names with dots.
struct UndoneMembers {
  /// The most lines of a list, and the most characters of a value and of a name.
  private static let most = (lines: 20, value: 60, name: 100)

  private(set) var members: [UndoDescription.Member] = []
  /// How many members follow.
  private(set) var rest = 0

  func list(_ heading: MessageKey? = nil, isPartial: Bool = false) -> UndoDescription.List {
    UndoDescription.List(heading, members, rest: rest, isPartial: isPartial)
  }

  /// Adds a member that the undo changes; the members of an object one by one.
  mutating func add(_ pointer: String, now: JSON?, after: JSON?) {
    add(Self.names(pointer), now, after)
  }

  /// Adds a member that stays.
  mutating func keep(_ pointer: String, _ now: JSON?) {
    append { .kept(Self.name(Self.names(pointer)), now: now.map(Self.shown)) }
  }

  private mutating func add(_ names: [String], _ now: JSON?, _ after: JSON?) {
    let before = now?.object
    let keys =
      (before?.map(\.0) ?? []) + (after?.object?.map(\.0) ?? []).filter { before?[$0] == nil }
    for key in keys { add(names + [key], before?[key], after?.object?[key]) }
    // The lines above have named all members of objects, so only other values are compared here.
    let own = [now, after].map { ($0?.object?.count ?? 0) > 0 ? nil : $0 }
    guard own[0] != own[1] else { return }
    append {
      let name = Self.name(names)
      return switch (own[0].map(Self.shown), own[1].map(Self.shown)) {
      case (let now?, let after?): .change(name, now: now, after: after)
      case (let now?, nil): .removal(name, now: now)
      case (nil, let after?): .creation(name, after: after)
      case (nil, nil): .kept(name, now: nil)
      }
    }
  }

  private mutating func append(_ member: () -> UndoDescription.Member) {
    if members.count < Self.most.lines { members.append(member()) } else { rest += 1 }
  }

  private static func names(_ pointer: String) -> [String] { JSONPointer(pointer)?.tokens ?? [] }

  private static func name(_ names: [String]) -> String {
    short(names.joined(separator: "."), most.name)
  }

  private static func shown(_ value: JSON) -> Text {
    switch value {
    case .null: return .message(.valueEmpty)
    case .bool(let isTrue): return .message(isTrue ? .valueYes : .valueNo)
    case .number(let number): return .name(short(number.text, most.value))
    case .string(let text):
      return text.allSatisfy(\.isWhitespace)
        ? .message(.valueEmpty) : .name(short(text, most.value))
    case .object(let object):
      return object.count == 0
        ? .message(.valueEmpty) : .message(.valueEntries, ["count": .count(object.count)])
    case .array(let array):
      guard !array.isEmpty else { return .message(.valueEmpty) }
      let words = array.prefix(most.value).compactMap { $0.string ?? $0.number?.text }
      let isShort = words.count == array.count && words.allSatisfy { !$0.isEmpty }
      let text = words.joined(separator: ", ")
      return isShort && text.unicodeScalars.count <= most.value
        ? .name(text) : .message(.valueEntries, ["count": .count(array.count)])
    }
  }

  private static func short(_ text: String, _ most: Int) -> String {
    let start = String(text.unicodeScalars.prefix(most))
    return start.utf8.count < text.utf8.count ? start + "…" : text
  }
}
