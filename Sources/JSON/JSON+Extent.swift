/// The size of a value.
package struct Extent: Sendable {
  /// The number of values, including the value itself.
  package fileprivate(set) var values = 1
  /// The number of objects, including the value itself.
  package fileprivate(set) var objects = 0
  /// The depth of nested arrays and objects.
  package fileprivate(set) var depth = 0

  fileprivate mutating func add(_ part: Extent) {
    values += part.values
    objects += part.objects
    depth = max(depth, part.depth + 1)
  }
}

extension JSON {
  package var extent: Extent {
    var extent = Extent()
    switch self {
    case .array(let array):
      if let (text, node) = array.place { return text.extent(of: node) }
      extent.depth = 1
      for element in array { extent.add(element.extent) }
    case .object(let object):
      if let (text, node) = object.place { return text.extent(of: node) }
      extent.depth = 1
      extent.objects = 1
      for (_, value) in object { extent.add(value.extent) }
    case .null, .bool, .number, .string: break
    }
    return extent
  }
}

extension JSONText {
  fileprivate func extent(of node: JSONNode) -> Extent {
    var extent = Extent()
    switch node.kind {
    case .array:
      extent.depth = 1
      for part in nodes[node.start..<node.start + node.count] { extent.add(self.extent(of: part)) }
    case .object:
      extent.depth = 1
      extent.objects = 1
      for member in 0..<node.count {
        extent.add(self.extent(of: nodes[node.start + 2 * member + 1]))
      }
    case .null, .false, .true, .number, .string: break
    }
    return extent
  }
}
