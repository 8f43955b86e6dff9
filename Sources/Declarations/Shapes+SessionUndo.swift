import Documents
import JSON
import WireKit

/// The shapes of the undo of what a session has written.
extension Shape {
  package static let sessionChanges = Shape.object([
    "session_id": .id(Example.session),
    "documents": documentUndos,
  ]).named("SessionChanges", "The changes that an undo of a session's writes would make.")

  private static let documentUndos = Shape.object(
    optional: DocumentKind.allCases.map { ($0.rawValue, documentUndo) }
  )
  .named("UndoneDocuments", "The documents that the session has written, by their names.")
  .like(["metadata": undoExample])

  private static let documentUndo = Shape.object([
    "version": .count.saying("send it with the undo; 0 if there is no document").like(4),
    "outcome": .choice(DocumentUndo.Outcome.allCases.map(\.rawValue))
      .saying("what becomes of the document").like("changed"),
    "changes": .list(of: member, atMost: SessionUndo.mostConflicts)
      .saying("members that go back to their values before the session"),
    "conflicts": .list(of: member, atMost: SessionUndo.mostConflicts)
      .saying("members that another writer has changed after the session, and that stay"),
    "not_writable": .list(of: .text, atMost: 2 * SessionUndo.mostConflicts)
      .saying("JSON Pointers to members that the user may not write, and that stay"),
    "more": .flag.saying("whether there are more places than these lists have").like(false),
    "complete": .flag.saying(
      "false if the session may have written versions that are not stored any more"
    ).like(true),
    "obstacle": .choice(DocumentUndo.Obstacle.allCases.map(\.rawValue)).orNull
      .saying("why the document cannot be undone"),
  ]).named("DocumentUndo", "The changes of an undo in one document.").like(undoExample)

  private static let undoExample: JSON = [
    "version": 4, "outcome": "changed",
    "changes": [["pointer": "/theme", "now": "dark", "after": "light"]],
    "conflicts": [
      [
        "pointer": "/language", "now": "fr", "after": "en", "actor": "user",
        "session_id": .string(Example.session), "changed_at": .string(Example.played),
      ]
    ],
    "not_writable": [], "more": false, "complete": true, "obstacle": .null,
  ]

  private static let member = Shape.object(
    ["pointer": .text.saying("RFC 6901").like("/theme")],
    optional: [
      "now": .any.saying("absent if there is no such member").like("dark"),
      "after": .any.saying("absent if the undo removes the member").like("light"),
      "actor": .text.orNull.saying("who changed a conflict last; null if unknown").like("user"),
      "session_id": .id(Example.session).orNull, "changed_at": .time(Example.played).orNull,
    ]
  ).named("UndoneMember", "A member that an undo changes; of a conflict, with its last writer.")

  package static let sessionUndo = Shape.object(
    optional: DocumentKind.allCases.map { ($0.rawValue, chosenDocument) }, isClosed: true
  )
  .named("SessionUndo", "The documents to undo, each with its version of the preview.")
  .like(["metadata": ["version": 4, "conflicts": ["/language"]]])

  private static let chosenDocument = Shape.object(
    members: [("version", .count.like(4))],
    optional: [
      (
        "conflicts",
        .list(of: .text, atMost: SessionUndo.mostConflicts)
          .saying("the pointers of conflicts that are undone too")
      )
    ], isClosed: true
  ).named("ChosenDocument", "A document to undo.").like(["version": 4, "conflicts": ["/language"]])

  package static let documentNumbers = Shape.object(
    optional: DocumentKind.allCases.map { ($0.rawValue, documentNumber) }
  )
  .named("DocumentNumbers", "The new versions of the documents.")
  .like(["app_metadata": ["version": 2], "custom_data": ["version": 2]])

  private static let documentNumber = Shape.object([
    "version": .count.saying("0 if an undo has deleted the document").like(2)
  ]).named("DocumentNumber", "The new version of a document.")
}
