import JSON

/// Values that fit shapes, for people to read.
struct ExampleValues {
  private let shapes: [String: Shape]

  init(_ shapes: [Shape]) {
    self.shapes = Dictionary(shapes.compactMap { shape in shape.name.map { ($0, shape) } }) { $1 }
  }

  /// - Parameters:
  ///   - schema: what the value fits.
  ///   - name: of the member that has it.
  /// - Returns: the value.
  func value(of schema: JSON, named name: String = "") -> JSON {
    if let reference = schema["$ref"]?.string?.split(separator: "/").last {
      return shapes[String(reference)].map { value(of: .object($0.schema), named: name) } ?? .null
    }
    if let example = schema["examples"]?.array?.first ?? schema["const"] { return example }
    if let choice = schema["enum"]?.array?.first ?? Self.usual[name] { return choice }
    if let choices = schema["anyOf"]?.array {
      return value(of: choices.first ?? .null, named: name)
    }
    if let members = schema["properties"]?.object {
      var object = JSONObject()
      let required = schema["required"]?.array
      for (member, part) in members
      where required == nil || required?.contains(.string(member)) == true {
        object[member] = value(of: part, named: member)
      }
      return .object(object)
    }
    if let items = schema["items"] { return .array([value(of: items, named: name)]) }
    if schema["format"] == "date-time" { return "2026-01-31T12:00:00Z" }
    if schema["pattern"] == Shape.id.schema["pattern"] { return "65b9f0a1c3d4e5f607182930" }
    switch schema["type"]?.string ?? schema["type"]?.array?.first?.string {
    case "string": return "…"
    case "integer": return schema["minimum"] ?? 1
    case "number": return 1
    case "boolean": return false
    case "object": return ["theme": "dark"]
    default: return .null
    }
  }

  /// What members of a name mostly are.
  private static let usual: [String: JSON] = [
    "name": "Ada Lovelace", "given_name": "Ada", "family_name": "Lovelace", "nickname": "Ada",
    "email": "ada@example.com", "expires_in": 1_800, "version": 3, "provider": "password",
    "access_token": "eyJhbGciOiJFUzI1NiJ9.…", "refresh_token": "drt_…", "device_secret": "ddv_…",
    "subject": "ada@example.com", "picture": "/v1/pictures/….jpg", "key": "dak_…",
    "address": "203.0.113.7", "agent": "Mozilla/5.0", "update": ["$inc": ["level": 1]],
    "password": "correct horse battery", "current_password": "correct horse battery",
    "new_password": "another horse battery", "value": "dark",
    "issuer": "https://issuer.example.com", "audience": "shop", "path": "metadata.theme",
    "hosts": ["users.example.com"], "scopes": ["read:users"], "action": "login",
  ]
}
