import JSON

/// The settings of a change, as its audit event shows them.
enum AuditedSettings {
  /// The longest value in an audit event; for longer ones, such as mail texts, it has only the
  /// name.
  private static let longest = 200

  static func shown(_ settings: JSONObject) -> JSON {
    var shown = JSONObject()
    for (name, value) in settings {
      shown[name] = value.serialized().count <= longest ? value : "…"
    }
    return .object(shown)
  }
}
