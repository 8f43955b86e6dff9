import Documents
import JSON
import Runtime

extension ImportRequest {
  /// Refuses to import users of an app with rules before the operator has decided about them.
  ///
  /// Rules that made a member read-only are not translated: their expressions have no equivalent.
  /// Without a decision, users could write all of their custom data.
  /// - Throws: `.unconfirmed` without a decision, and errors of the file.
  func requireDecision(aboutRulesFor app: App) throws(CommandFailure) {
    guard let path = rules else { return }
    let json = try InputFile.json(path)
    guard let roles = json["roles"]?.array else {
      throw CommandFailure("\(path) has no list roles, unlike rules.json", .invalid)
    }
    let settings = ["custom_data_writable", "custom_data_readable"]
    guard settings.contains(where: { app.settings.chosen?[$0] == nil }) else { return }
    let filters = json["filters"]?.array ?? []
    let none = ["  (no role: those of default_rule.json apply)"]
    let hidden = filters.map {
      "  the filter \($0["name"]?.string ?? "(no name)") hides documents or members"
    }
    let lines = (roles.isEmpty ? none : roles.flatMap(Self.lines(about:))) + hidden
    throw CommandFailure(
      """
      The app has rules, and nothing was imported. Decide what users may read and write, then repeat:
        dossier app set --app \(app.name) custom_data_writable=… custom_data_readable=…
      Each is true for all members, false, or a list such as /theme,/profile/hobby.
      The roles in \(path):
      \(lines.map(Table.visible).joined(separator: "\n"))
      """,
      .unconfirmed
    )
  }

  /// Returns the lines about a role; none for one that is no object.
  private static func lines(about role: JSON) -> [String] {
    guard let members = role.object else { return [] }
    let rights = rights(["read", "write", "insert", "delete"], members)
    return ["  \(members["name"]?.string ?? "(no name)"): \(rights)"] + fields(of: members, at: "")
  }

  /// Returns the lines about the fields of a role, or of a field.
  private static func fields(of members: JSONObject, at path: String) -> [String] {
    var lines: [String] = []
    for field in members["fields"]?.object ?? JSONObject() {
      guard let own = field.value.object else { continue }
      let path = "\(path)/\(JSONPointer.escaped(field.key))"
      lines.append("    \(path): \(rights(["read", "write"], own))")
      lines += fields(of: own, at: path)
    }
    if let others = members["additional_fields"]?.object {
      lines.append("    all other fields of \(path)/: \(rights(["read", "write"], others))")
    }
    return lines
  }

  private static func rights(_ names: [String], _ members: JSONObject) -> String {
    names.map { name in
      switch members[name] {
      case nil: "\(name) not set"
      case .bool(true): name
      case .bool(false): "no \(name)"
      default: "\(name) by expression"
      }
    }.joined(separator: ", ")
  }
}
