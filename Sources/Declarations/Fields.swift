package import Runtime
import EventLoop
package import JSON
package import WireKit

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
    var members = try ObjectDecoder(call.json, known: names)
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
