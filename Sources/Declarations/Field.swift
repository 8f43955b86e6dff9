import EventLoop
package import JSON
package import Runtime
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
  package let read: @Sendable (inout MemberReader) -> Value

  private init(_ members: [Member], _ read: @escaping @Sendable (inout MemberReader) -> Value) {
    self.members = members
    self.read = read
  }

  package init(
    _ name: String, _ shape: Shape,
    _ read: @escaping @Sendable (inout MemberReader, String) -> Value
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
  /// The nonce for which a client has asked for a token of an issuer.
  package static let nonceOfToken = Field.optional(
    .text(
      "nonce",
      .text.saying("must be the nonce of the token, or the text whose SHA-256 (hexadecimal) it is")
    ))

  /// Returns a required member that is a string or null.
  package static func textOrNull(_ name: String, _ shape: Shape) -> Field {
    Field(name, shape.orNull) { $0.isNull($1) ? nil : $0.string($1) }
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
    Field(name, .id(Example.grace)) { $0.id($1) }
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

/// A request body: an object with these members and no others.
package struct Fields<each Value: Sendable>: Sendable {
  private let fields: (repeat Field<each Value>)
  private let names: [String]
  /// The value of the member `provider`, or nil if the body has no such member.
  fileprivate let provider: String?
  private var rules: Rules?
  /// The required members, and the optional ones.
  package let required: [(key: String, value: Shape)]
  package let optional: [(key: String, value: Shape)]
  /// The shape in the reference.
  package private(set) var shape: Shape

  /// A function that returns the rules of the domain that the values break.
  package typealias Rules =
    @EventLoop @Sendable (Call, repeat each Value) throws(Failure) -> [FieldError]

  /// - Parameters:
  ///   - name: the name in the reference.
  ///   - description: the description in the reference.
  ///   - provider: the value of the member `provider`, which selects one of several bodies.
  ///   - fields: the members.
  package init(
    _ name: String, _ description: String, provider: String? = nil,
    _ fields: repeat Field<each Value>
  ) {
    var required: [(key: String, value: Shape)] = []
    var optional: [(key: String, value: Shape)] = []
    if let provider { required.append((key: "provider", value: .only(provider))) }
    for field in repeat each fields {
      for member in field.members {
        let entry = (key: member.name, value: member.shape)
        if member.isRequired { required.append(entry) } else { optional.append(entry) }
      }
    }
    self.fields = (repeat each fields)
    self.provider = provider
    self.required = required
    self.optional = optional
    names = (required + optional).map(\.key)
    shape = Shape.object(members: required, optional: optional, isClosed: true)
      .named(name, description)
  }

  /// Returns the body with an example.
  package func like(_ example: JSON) -> Fields {
    var fields = self
    fields.shape = shape.like(example)
    return fields
  }

  /// Returns the body with an example for one route.
  package func shown(as sample: JSON) -> Fields {
    var fields = self
    fields.shape = shape.shown(as: sample)
    return fields
  }

  /// Returns the body with additional rules.
  ///
  /// A malformed body then reports the broken rules of the domain too, in one response.
  package func telling(_ rules: @escaping Rules) -> Fields {
    var fields = self
    fields.rules = rules
    return fields
  }

  /// - Throws: `.invalid` with all broken rules.
  @EventLoop package func read(_ call: Call) throws(Failure) -> (repeat each Value) {
    var members = try MemberReader(call.json, known: names)
    let values = (repeat (each fields).read(&members))
    try members.check(rules?(call, repeat each values) ?? [])
    return values
  }
}

/// One of several request bodies, selected by the member `provider`.
package struct Variants<Value: Sendable>: Sendable {
  private let variants: [Variant<Value>]
  package let shape: Shape

  /// - Parameters:
  ///   - name: the name in the reference.
  ///   - description: the description in the reference.
  ///   - variants: the bodies.
  package init(_ name: String, _ description: String, _ variants: Variant<Value>...) {
    self.variants = variants
    shape = Shape.either(variants.map(\.shape)).named(name, description)
  }

  /// - Throws: `.invalid` with all broken rules.
  @EventLoop package func read(_ call: Call) throws(Failure) -> Value {
    let name = call.json["provider"]?.string ?? ""
    guard let variant = variants.first(where: { $0.provider.hasSameBytes(as: name) }) else {
      let all = variants.map(\.provider)
      let names = all.dropLast().joined(separator: ", ") + " or " + (all.last ?? "")
      throw .invalid([FieldError("/provider", "choice", "The provider must be \(names).")])
    }
    return try variant.read(call)
  }
}

/// One of the request bodies that a route accepts.
package struct Variant<Value: Sendable>: Sendable {
  fileprivate let provider: String
  fileprivate let shape: Shape
  fileprivate let read: @EventLoop @Sendable (Call) throws(Failure) -> Value

  /// - Parameters:
  ///   - fields: the members, with a provider.
  ///   - make: converts the members.
  package init<each Member: Sendable>(
    _ fields: Fields<repeat each Member>, _ make: @escaping @Sendable (repeat each Member) -> Value
  ) {
    provider = fields.provider ?? ""
    shape = fields.shape
    read = { (call) throws(Failure) in
      let values = try fields.read(call)
      return make(repeat each values)
    }
  }
}
