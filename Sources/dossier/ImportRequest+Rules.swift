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
    guard !roles.isEmpty, settings.contains(where: { app.settings.chosen?[$0] == nil }) else {
      return
    }
    let lines = roles.compactMap(Self.limits).map { "  \($0)" }
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

  /// Returns a line with the limits of a role; nil for one that is no object.
  private static func limits(_ role: JSON) -> String? {
    guard let members = role.object else { return nil }
    let name = members["name"]?.string ?? "(no name)"
    let fields = (members["fields"]?.object ?? JSONObject()).map { field in
      let rights = ["read", "write"].filter { field.value[$0] == true }
      return "\(field.key): \(rights.isEmpty ? "neither" : rights.joined(separator: " and "))"
    }
    let rights = ["read", "write", "insert", "delete"].map { name in
      "\(name) \(members[name]?.bool.map(String.init) ?? "by expression or not set")"
    }
    return "\(name): \((rights + fields).joined(separator: ", "))"
  }
}
