import Dossier
import EventLoop
import HTTP
import JSON
import Wiring

/// The body of a request: an object of these members and no others.
struct Fields<each Value: Sendable>: Sendable {
  private let fields: (repeat Field<each Value>)
  private let names: [String]
  /// Which of several bodies it is.
  fileprivate let provider: String?
  private var rules: Rules?
  /// Members that must be there, and those that need not.
  let required: [(key: String, value: Shape)]
  let optional: [(key: String, value: Shape)]
  /// What the reference says of it.
  private(set) var shape: Shape

  /// What the domain finds wrong with values.
  typealias Rules = @EventLoop @Sendable (Call, repeat each Value) throws(Failure) -> [Fault]

  /// - Parameters:
  ///   - name: by which the reference explains it.
  ///   - description: for people.
  ///   - provider: what its member `provider` says, by which it is told apart from others.
  ///   - fields: its members.
  init(
    _ name: String,
    _ description: String,
    provider: String? = nil,
    _ fields: repeat Field<each Value>
  ) {
    var required: [(key: String, value: Shape)] = []
    var optional: [(key: String, value: Shape)] = []
    if let provider { required.append((key: "provider", value: .only(provider))) }
    for field in repeat each fields {
      let member = (key: field.name, value: field.shape)
      if field.isRequired { required.append(member) } else { optional.append(member) }
    }
    self.fields = (repeat each fields)
    self.provider = provider
    self.required = required
    self.optional = optional
    names = (required + optional).map(\.key)
    shape = Shape.object(members: required, optional: optional, isClosed: true)
      .named(name, description)
  }

  /// With a body that the reference shows.
  func like(_ example: JSON) -> Fields {
    var fields = self
    fields.shape = shape.like(example)
    return fields
  }

  /// With a body that the reference shows at this route alone.
  func shown(as sample: JSON) -> Fields {
    var fields = self
    fields.shape = shape.shown(as: sample)
    return fields
  }

  /// The same, where what the domain finds wrong is told beside what is wrong with the form.
  ///
  /// Where nothing is wrong with that, the domain says it itself.
  func telling(_ rules: @escaping Rules) -> Fields {
    var fields = self
    fields.rules = rules
    return fields
  }

  /// - Throws: `.invalid` with everything that is wrong.
  @EventLoop func read(_ call: Call) throws(Failure) -> (repeat each Value) {
    var members = try Members(call.json, known: names)
    let values = (repeat (each fields).read(&members, (each fields).name))
    try members.check(rules?(call, repeat each values) ?? [])
    return values
  }
}

/// A body that is one of several, told apart by the member `provider`.
struct Variants<Value: Sendable>: Sendable {
  private let variants: [Variant<Value>]
  let shape: Shape

  /// - Parameters:
  ///   - name: by which the reference explains it.
  ///   - description: for people.
  ///   - variants: the bodies.
  init(_ name: String, _ description: String, _ variants: Variant<Value>...) {
    self.variants = variants
    shape = Shape.either(variants.map(\.shape)).named(name, description)
  }

  /// - Throws: `.invalid` with everything that is wrong.
  @EventLoop func read(_ call: Call) throws(Failure) -> Value {
    let name = call.json["provider"]?.string ?? ""
    guard let variant = variants.first(where: { $0.provider.hasSameBytes(as: name) }) else {
      let all = variants.map(\.provider)
      let names = all.dropLast().joined(separator: ", ") + " or " + (all.last ?? "")
      throw .invalid([Fault("/provider", "choice", "The provider is \(names).")])
    }
    return try variant.read(call)
  }
}

/// One of the bodies that a route takes.
struct Variant<Value: Sendable>: Sendable {
  fileprivate let provider: String
  fileprivate let shape: Shape
  fileprivate let read: @EventLoop @Sendable (Call) throws(Failure) -> Value

  /// - Parameters:
  ///   - fields: which have a provider.
  ///   - make: of the members.
  init<each Member: Sendable>(
    _ fields: Fields<repeat each Member>,
    _ make: @escaping @Sendable (repeat each Member) -> Value
  ) {
    provider = fields.provider ?? ""
    shape = fields.shape
    read = { (call) throws(Failure) in
      let values = try fields.read(call)
      return make(repeat each values)
    }
  }
}

extension Operation {
  /// An operation whose handler is given the members of the body.
  init<each Value: Sendable>(
    _ method: Method,
    _ pattern: String,
    access: Access,
    body: BodyRule,
    reads fields: Fields<repeat each Value>,
    query: [QueryParameter] = [],
    versions: Versions = .none,
    gives: [Answer],
    refuses: [ProblemType] = [],
    summary: String,
    _ handler:
      @escaping @EventLoop @Sendable (Call, repeat each Value) async throws(Failure) -> Response
  ) {
    self.init(
      method,
      pattern,
      access: access,
      body: body,
      takes: fields.shape,
      query: query,
      versions: versions,
      gives: gives,
      refuses: refuses,
      summary: summary
    ) { (call) async throws(Failure) in
      let values = try fields.read(call)
      return try await handler(call, repeat each values)
    }
  }

  /// An operation whose handler is given what one of several bodies makes.
  init<Value: Sendable>(
    _ method: Method,
    _ pattern: String,
    access: Access,
    body: BodyRule,
    reads variants: Variants<Value>,
    gives: [Answer],
    refuses: [ProblemType] = [],
    summary: String,
    _ handler: @escaping @EventLoop @Sendable (Call, Value) async throws(Failure) -> Response
  ) {
    self.init(
      method,
      pattern,
      access: access,
      body: body,
      takes: variants.shape,
      gives: gives,
      refuses: refuses,
      summary: summary
    ) { (call) async throws(Failure) in
      try await handler(call, variants.read(call))
    }
  }
}
