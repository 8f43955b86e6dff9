/// The member order of PostgreSQL's `jsonb`: shorter keys first, then by bytes.
extension JSON {
  /// Returns the value with the members of all its objects in that order.
  ///
  /// - Complexity: O(*n*) if they are already in order, as in stored values, else O(*n* log *n*).
  package func inStoredOrder() -> JSON {
    guard !isInStoredOrder else { return self }
    var writer = JSONWriter()
    Self.write(self, to: &writer)
    // The writer's output is valid JSON.
    return (try? JSON.parse(writer.bytes, limits: .none)) ?? self
  }

  private var isInStoredOrder: Bool {
    switch self {
    case .null, .bool, .number, .string: return true
    case .array(let elements):
      if let (text, node) = elements.place { return text.isInStoredOrder(node) }
      return elements.allSatisfy(\.isInStoredOrder)
    case .object(let object):
      if let (text, node) = object.place { return text.isInStoredOrder(node) }
      let keys = object.keys
      return zip(keys, keys.dropFirst()).allSatisfy { Self.isOrdered($0.utf8, $1.utf8) }
        && object.allSatisfy(\.value.isInStoredOrder)
    }
  }

  private static func write(_ json: JSON, to writer: inout JSONWriter) {
    switch json {
    case .null, .bool, .number, .string: writer.value(json)
    case .array(let elements):
      writer.beginArray()
      for element in elements { write(element, to: &writer) }
      writer.endArray()
    case .object(let object):
      writer.beginObject()
      for (key, value) in object.sorted(by: { isOrdered($0.key.utf8, $1.key.utf8) }) {
        writer.key(key)
        write(value, to: &writer)
      }
      writer.endObject()
    }
  }

  fileprivate static func isOrdered(
    _ first: some Collection<UInt8>, _ second: some Collection<UInt8>
  ) -> Bool {
    first.count == second.count
      ? first.lexicographicallyPrecedes(second) : first.count < second.count
  }
}

extension JSONText {
  fileprivate func isInStoredOrder(_ node: JSONNode) -> Bool {
    switch node.kind {
    case .null, .false, .true, .number, .string: true
    case .array: nodes[node.start..<node.start + node.count].allSatisfy(isInStoredOrder)
    case .object:
      (0..<node.count).allSatisfy { member in
        let place = node.start + 2 * member
        return isInStoredOrder(nodes[place + 1])
          && (member == 0 || JSON.isOrdered(slice(nodes[place - 2]), slice(nodes[place])))
      }
    }
  }
}
