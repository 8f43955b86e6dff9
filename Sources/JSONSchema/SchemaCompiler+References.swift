import JSON

extension SchemaCompiler {
  /// Finds the targets of references; refuses missing targets and cycles.
  mutating func resolveReferences() throws(SchemaError) {
    var dynamic: [ByteString: [Int: Int]] = [:]
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

  /// Returns the rule of a reference, which is dynamic only if it leads to a dynamic anchor by
  /// name.
  ///
  /// `dynamic` caches the result for each name.
  private func rule(
    of reference: Reference, _ dynamic: inout [ByteString: [Int: Int]]
  ) throws(SchemaError) -> Rule {
    let owner = subschemas[reference.owner]
    switch resources.target(of: reference.text, in: owner.resource) {
    case .schema(let schema, let name):
      guard reference.keyword == .dynamicReference, let name else { return .reference(schema) }
      let others = dynamic[name] ?? resources.schemas(named: name)
      dynamic[name] = others
      return .dynamicReference(schema, others: others)
    case .place(let pointer):
      if let schema = places[ByteString(pointer)] { return .reference(schema) }
    case nil: break
    }
    throw SchemaError(
      reference.pointer, "reference",
      "The reference must lead to this schema or a part of it; others are not fetched."
    )
  }

  private enum State { case new, open, done }

  /// Refuses a cycle of references on the same value, which would never end.
  ///
  /// It follows only the initial schema of a dynamic reference. If another target leads into a
  /// cycle, the depth limit of the validation ends it. `pointer` locates the last reference on the
  /// path, which is part of a cycle that is found.
  private func visit(_ index: Int, _ states: inout [State], _ pointer: String) throws(SchemaError) {
    guard states[index] != .open else {
      throw SchemaError(
        pointer, "cycle", "The reference leads back to itself without going into the value."
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
