import Runtime
import EventLoop
import JSON
package import WireKit

/// A member of a request body.
package struct Member: Sendable {
  package let name: String
  /// The shape in the reference.
  package let shape: Shape
  package let isRequired: Bool
}

/// A value of a request body: its member, or several members, with their decoder.
package struct Field<Value: Sendable>: Sendable {
  package let members: [Member]
  package let read: @Sendable (inout ObjectDecoder) -> Value

  private init(_ members: [Member], _ read: @escaping @Sendable (inout ObjectDecoder) -> Value) {
    self.members = members
    self.read = read
  }

  package init(
    _ name: String, _ shape: Shape,
    _ read: @escaping @Sendable (inout ObjectDecoder, String) -> Value
  ) {
    self.init([Member(name: name, shape: shape, isRequired: true)]) { read(&$0, name) }
  }

  /// Returns an optional member.
  ///
  /// Its value is nil if the body omits it.
  package static func optional<Wrapped>(_ field: Field<Wrapped>) -> Field where Value == Wrapped? {
    let members = field.members.map {
      Member(name: $0.name, shape: $0.shape, isRequired: false)
    }
    return Field(members) { object in
      members.contains { object.has($0.name) } ? field.read(&object) : nil
    }
  }

  /// Returns several members that make one value.
  package static func group<each Part: Sendable>(
    _ fields: repeat Field<each Part>, make: @escaping @Sendable (repeat each Part) -> Value
  ) -> Field {
    var members: [Member] = []
    for field in repeat each fields { members += field.members }
    return Field(members) { object in make(repeat (each fields).read(&object)) }
  }
}

extension Field<String> {
  package static func text(_ name: String, _ shape: Shape = .text) -> Field {
    Field(name, shape) { $0.string($1) }
  }
}

extension Field<String> {
  package static let tokenOfIssuer = Field.text("token", .text.like(.string(Example.issuerToken)))
}

extension Field<String?> {
  /// Returns a required member that is a string or null.
  package static func textOrNull(_ name: String, _ shape: Shape) -> Field {
    Field(name, shape.orNull) { $0.stringOrNull($1) }
  }
}

extension Field<Bool> {
  package static func flag(_ name: String) -> Field { Field(name, .flag) { $0.flag($1) } }
}

extension Field<[String]> {
  package static func texts(_ name: String, of shape: Shape = .text) -> Field {
    Field(name, .list(of: shape)) { $0.strings($1) }
  }

  /// Returns a member that is an array of strings, or null for an empty array.
  package static func textsOrNull(_ name: String) -> Field {
    Field(name, Shape.list(of: .text).orNull) { $0.isNull($1) ? [] : $0.strings($1) }
  }
}

extension Field<JSONObject> {
  package static func object(_ name: String, _ shape: Shape = .object) -> Field {
    Field(name, shape) { $0.object($1) }
  }
}

extension Field<JSONArray> {
  package static func list(_ name: String, of shape: Shape) -> Field {
    Field(name, .list(of: shape)) { $0.list($1) }
  }
}

extension Field<UserID> {
  package static func user(_ name: String) -> Field {
    Field(name, .id(Example.charles)) { $0.id($1) }
  }
}

extension Field<JSON> {
  /// Returns a member with any JSON value.
  package static func json(_ name: String, _ shape: Shape) -> Field {
    Field(name, shape) { $0.json($1) }
  }
}

extension Field where Value: CaseIterable & RawRepresentable<String> {
  /// Returns a member that names a case; `usual` replaces a value that is refused.
  package static func choice(
    _ name: String, _ shape: Shape, _ noun: String, else usual: Value
  ) -> Field {
    Field(name, shape) { members, name in
      if let value = Value(rawValue: members.string(name)) { return value }
      let names = Value.allCases.map(\.rawValue)
      let (start, separator) = names.count == 2 ? ("", " or ") : ("one of ", ", ")
      let rule = "A \(noun) must be \(start)\(names.joined(separator: separator))."
      // The decoder has refused a body without the member.
      if members.has(name) { members.refuse(FieldError("/\(name)", "choice", rule)) }
      return usual
    }
  }
}
