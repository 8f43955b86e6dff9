import JSON

extension SchemaCompiler {
  /// Finds the targets of references, and refuses those that lead nowhere or in a circle.
  mutating func resolveReferences() throws(SchemaError) {
    var dynamic: [ExactString: [Int: Int]] = [:]
    for reference in references {
      let rule = try rule(of: reference, &dynamic)
      guard case .tests(var tests) = subschemas[reference.owner].content,
        let position = tests.firstIndex(where: { $0.keyword == reference.keyword })
      else { continue }
      tests[position].rule = rule
      subschemas[reference.owner].content = .tests(tests)
    }
    var states = [State](repeating: .new, count: subschemas.count)
    for reference in references { try visit(reference.owner, &states, reference.pointer) }
  }

  /// A dynamic reference is one only where it leads to a dynamic anchor by its name.
  ///
  /// `dynamic` keeps what is found for a name, for all its references.
  private func rule(
    of reference: Reference,
    _ dynamic: inout [ExactString: [Int: Int]]
  ) throws(SchemaError) -> Rule {
    let owner = subschemas[reference.owner]
    switch resources.target(of: reference.text, in: owner.resource) {
    case .schema(let schema, let name):
      guard reference.keyword == .dynamicReference, let name else { return .reference(schema) }
      let others = dynamic[name] ?? resources.schemas(named: name)
      dynamic[name] = others
      return .dynamicReference(schema, others: others)
    case .place(let pointer):
      if let schema = places[ExactString(pointer)] { return .reference(schema) }
    case nil: break
    }
    throw SchemaError(
      reference.pointer,
      "reference",
      "There is no schema at this reference; others than this schema and its parts are not fetched."
    )
  }

  private enum State { case new, open, done }

  /// A way back to itself that leaves the value where it is would never end.
  ///
  /// Of dynamic references only the schema to begin with is followed; where one leads into a circle
  /// by another, the depth of a validation ends it.
  /// `pointer` is to the last reference on the way, which is part of a circle that is found.
  private func visit(_ index: Int, _ states: inout [State], _ pointer: String) throws(SchemaError) {
    guard states[index] != .open else {
      throw SchemaError(
        pointer,
        "cycle",
        "The reference leads back to itself without going into the value."
      )
    }
    guard states[index] == .new else { return }
    states[index] = .open
    let own = subschemas[index]
    let last = own.reference.map { "\(own.pointer)/\($0.rawValue)" } ?? pointer
    for next in own.besides { try visit(next, &states, last) }
    states[index] = .done
  }
}
