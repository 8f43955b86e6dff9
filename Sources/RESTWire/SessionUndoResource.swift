import Declarations
import Documents
import EventLoop
import HTTP
import JSON
import Representations
import Runtime
import WireKit

/// The undo of what a session has written: `/v1/me/sessions/{session}/changes` and `…/undo`.
///
/// It writes only what the caller may write by other routes too, so it needs no fresh session.
@EventLoop enum SessionUndoResource {
  nonisolated static let operations = [BasePath.me, .users].flatMap(operations)

  private nonisolated static func operations(_ base: BasePath) -> [Operation] {
    let pattern = "\(base.prefix)/sessions/{session}"
    // A user who only reads, such as a session of support, sees no preview either.
    let isOfUsers = base.prefix == BasePath.me.prefix
    return [
      Operation(
        .get, "\(pattern)/changes", access: isOfUsers ? base.write : base.read,
        gives: [.ok(.sessionChanges)],
        summary: "Show what an undo of a session's writes would change, with conflicts", preview
      ).needing(.support).viewing(.documents),
      Operation(
        .post, "\(pattern)/undo", access: base.write,
        takes: .body(.json(limit: 262_144), .sessionUndo), gives: [.ok(.documentNumbers)],
        refuses: [
          .preconditionFailed, .schemaMismatch, .documentTooLarge, .memberNotWritable,
        ],
        summary: "Undo what a session has written in documents, all or none", undo
      ),
    ]
  }

  private static func preview(_ call: Call) async throws(Failure) -> Response {
    try requireReading(call)
    let session: SessionID = try call.captured("session")
    let undos = try await SessionUndo.preview(of: session, of: call.user, call.context)
    var documents = JSONObject()
    for undo in undos { documents[undo.kind.rawValue] = undo.json }
    let body: JSON = ["session_id": .string(session.text), "documents": .object(documents)]
    return Response(.ok, json: body.serialized())
  }

  private static func undo(_ call: Call) async throws(Failure) -> Response {
    try requireReading(call)
    let names = DocumentKind.allCases.map(\.rawValue)
    var reader = try MemberReader(call.json, known: names)
    var choices: [SessionUndo.Choice] = []
    for kind in DocumentKind.allCases where reader.has(kind.rawValue) {
      choices.append(choice(kind, &reader))
    }
    if choices.isEmpty {
      let rule = "Send at least one of \(names.joined(separator: ", "))."
      reader.refuse(FieldError("", "choice", rule))
    }
    try reader.check()
    let versions = try await SessionUndo.apply(
      choices, of: call.captured("session"), of: call.user, call.context)
    var body = JSONObject()
    for (choice, version) in zip(choices, versions) {
      body[choice.kind.rawValue] = ["version": .number(JSONNumber(version))]
    }
    return Response(.ok, json: JSON.object(body).serialized())
  }

  /// Refuses users who may write and not read, since errors reveal stored values.
  private static func requireReading(_ call: Call) throws(Failure) {
    if call.context.principal.user != nil { try call.context.require(Scopes.readUser) }
  }

  private static func choice(
    _ kind: DocumentKind, _ reader: inout MemberReader
  ) -> SessionUndo.Choice {
    let given = reader.object(kind.rawValue)
    var faults: [FieldError] = []
    for (name, _) in given where name != "version" && name != "conflicts" {
      faults.append(MemberReader.unknown(name))
    }
    let version = given["version"]?.number?.int.flatMap { $0 >= 0 ? $0 : nil }
    if version == nil { faults.append(.wrongType("/version", "a number from 0")) }
    var conflicts: [String] = []
    if let list = given["conflicts"] {
      conflicts = list.array?.compactMap(\.string) ?? []
      if conflicts.count != list.array?.count || conflicts.count > SessionUndo.mostConflicts {
        let type = "a list of at most \(SessionUndo.mostConflicts) JSON Pointers"
        faults.append(.wrongType("/conflicts", type))
      }
    }
    for fault in faults { reader.refuse(fault.inside("/\(kind.rawValue)")) }
    return SessionUndo.Choice(kind, version: version ?? 0, conflicts: conflicts)
  }
}
