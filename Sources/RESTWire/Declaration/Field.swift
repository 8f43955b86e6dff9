import Dossier
import EventLoop
import JSON
import Wiring

/// A member of a body.
///
/// Its name, what the reference says of it, and how it is read are one thing, so that none can lag
/// behind the others.
struct Field<Value: Sendable>: Sendable {
  let name: String
  let shape: Shape
  let isRequired: Bool
  let read: @Sendable (inout Members, String) -> Value

  init(
    _ name: String,
    _ shape: Shape,
    isRequired: Bool = true,
    _ read: @escaping @Sendable (inout Members, String) -> Value
  ) {
    self.name = name
    self.shape = shape
    self.isRequired = isRequired
    self.read = read
  }

  /// A member that may be left out, or else is as `field` says; nil without it.
  static func optional<Wrapped>(_ field: Field<Wrapped>) -> Field where Value == Wrapped? {
    Field(field.name, field.shape, isRequired: false) { members, name in
      members.has(name) ? field.read(&members, name) : nil
    }
  }
}

extension Field<String> {
  static func text(_ name: String, _ shape: Shape = .text) -> Field {
    Field(name, shape) { $0.string($1) }
  }
}

extension Field<String> {
  static let tokenOfIssuer = Field.text("token", .text.like(.string(Example.issuerToken)))
}

extension Field<String?> {
  /// A text that must be there, or null.
  static func textOrNull(_ name: String, _ shape: Shape) -> Field {
    Field(name, shape.orNull) { $0.stringOrNull($1) }
  }
}

extension Field<Bool> {
  static func flag(_ name: String) -> Field { Field(name, .flag) { $0.flag($1) } }
}

extension Field<[String]> {
  static func texts(_ name: String, of shape: Shape = .text) -> Field {
    Field(name, .list(of: shape)) { $0.strings($1) }
  }

  /// Texts, where null is none of them.
  static func textsOrNull(_ name: String) -> Field {
    Field(name, Shape.list(of: .text).orNull) { $0.isNull($1) ? [] : $0.strings($1) }
  }
}

extension Field<JSONObject> {
  static func object(_ name: String, _ shape: Shape = .object) -> Field {
    Field(name, shape) { $0.object($1) }
  }
}

extension Field<JSONArray> {
  static func list(_ name: String, of shape: Shape) -> Field {
    Field(name, .list(of: shape)) { $0.list($1) }
  }
}

extension Field<UserID> {
  static func user(_ name: String) -> Field { Field(name, .id(Example.charles)) { $0.id($1) } }
}

extension Field<JSON> {
  /// Whatever the domain takes there.
  static func json(_ name: String, _ shape: Shape) -> Field { Field(name, shape) { $0.json($1) } }
}
