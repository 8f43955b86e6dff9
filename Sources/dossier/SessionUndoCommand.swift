import ArgumentParser
import CommandKit
import Encoding
import EventLoop
import HTTP
import JSON

extension SessionCommand {
  struct Undo: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Undoes what a session has written in a user's documents.",
      discussion: """
        Needs stored versions: see the setting document_versions_kept. Shows the changes, then asks. A \
        member that another writer has changed later is a conflict, which stays unless you name it. \
        Does not end the session.

          dossier session undo ada@example.com 697deec0e5087f36371ad127 --conflict metadata/language
        """)
    @OptionGroup var user: UserArgument
    @OptionGroup var confirmation: Confirmation

    @Argument(help: "The id of the session, which may have ended.")
    var session: String

    @Option(
      name: .customLong("conflict"),
      help: ArgumentHelp(
        "Undoes this conflict too: the document and the JSON Pointer. May be repeated.",
        valueName: "place"))
    var conflicts: [String] = []

    @Flag(help: "Only shows what would change.")
    var dryRun = false

    func run() throws {
      let isJSON = user.options.common.output.isJSON
      user.run { context, path async throws(CommandFailure) in
        let app = user.options.app
        let path = "\(path)/sessions/\(segment(session))"
        let preview = try await context.send(.get, "\(path)/changes", to: app)
        if dryRun {
          if !isJSON { Output.write(UndoPreview.text(of: preview), to: 1) }
          return CommandOutput(isJSON ? preview : .null)
        }
        let chosen = try UndoPreview.chosen(conflicts, in: preview)
        Output.write(UndoPreview.text(of: preview), to: 2)
        guard chosen.count > 0 else {
          return CommandOutput(.null, remark: "there is nothing to undo")
        }
        try confirmation.ask("Undo these changes?")
        return CommandOutput(
          try await context.send(.post, "\(path)/undo", .json(.object(chosen)), to: app))
      }
    }
  }
}

/// The preview of an undo, for people.
private enum UndoPreview {
  /// Returns the documents to undo: those that change, with the conflicts that the operator names.
  static func chosen(
    _ conflicts: [String], in preview: JSON
  ) throws(CommandFailure) -> JSONObject {
    var places: [String: [JSON]] = [:]
    for conflict in conflicts {
      let start = conflict.firstIndex(of: "/") ?? conflict.endIndex
      let (name, pointer) = (String(conflict[..<start]), String(conflict[start...]))
      let known = preview["documents"]?[name]?["conflicts"]?.array ?? []
      guard known.contains(where: { $0["pointer"]?.string?.hasSameBytes(as: pointer) == true })
      else {
        throw CommandFailure("there is no conflict at \(conflict)", .usage)
      }
      places[name, default: []].append(.string(pointer))
    }
    var chosen = JSONObject()
    for (name, document) in preview["documents"]?.object ?? JSONObject() {
      guard document["obstacle"] == .null,
        document["outcome"]?.string != "unchanged" || places[name] != nil
      else { continue }
      chosen[name] = [
        "version": document["version"] ?? 0, "conflicts": .array(places[name] ?? []),
      ]
    }
    return chosen
  }

  static func text(of preview: JSON) -> String {
    let documents = preview["documents"]?.object ?? JSONObject()
    if documents.count == 0 { return "No stored version names this session.\n" }
    var lines: [String] = []
    for (name, document) in documents {
      lines.append("\(name), version \(document["version"]?.text ?? ""): \(state(of: document))")
      for change in document["changes"]?.array ?? [] { lines.append("  \(line(of: change))") }
      for conflict in document["conflicts"]?.array ?? [] {
        let writer = conflict["actor"]?.string ?? "unknown"
        let time = conflict["changed_at"]?.string.map { ", \($0)" } ?? ""
        lines.append("  conflict \(line(of: conflict)) (changed later by \(writer)\(time))")
      }
      if document["more"]?.bool == true { lines.append("  and more places") }
      if document["complete"]?.bool == false {
        lines.append("  Earlier writes of the session may not be stored any more.")
      }
    }
    return lines.map { Table.visible($0) + "\n" }.joined()
  }

  private static func state(of document: JSON) -> String {
    if let obstacle = document["obstacle"]?.string { return "cannot be undone (\(obstacle))" }
    return document["outcome"]?.string ?? ""
  }

  private static func line(of member: JSON) -> String {
    let (now, after) = (member["now"]?.text, member["after"]?.text)
    return "\(member["pointer"]?.string ?? ""): \(now ?? "absent") -> \(after ?? "absent")"
  }
}
