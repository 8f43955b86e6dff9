import JSON

/// Values that fit shapes, for people to read.
struct ExampleValues {
  private let shapes: [String: Shape]

  init(_ shapes: [Shape]) {
    self.shapes = Dictionary(shapes.compactMap { shape in shape.name.map { ($0, shape) } }) { $1 }
  }

  /// Returns what is shown of a shape at the place that uses it.
  func value(of shape: Shape) -> JSON { shape.sample ?? value(of: shape.reference) }

  /// Returns the example of a schema, or one that is made of the examples of its parts.
  ///
  /// Nothing is made up: a part without an example is null, which a test finds.
  private func value(of schema: JSON) -> JSON {
    if let reference = schema["$ref"]?.string?.split(separator: "/").last {
      return shapes[String(reference)].map { value(of: .object($0.schema)) } ?? .null
    }
    if let example = schema["examples"]?.array?.first ?? schema["const"] { return example }
    if let choice = schema["enum"]?.array?.first { return choice }
    if let choices = schema["oneOf"]?.array ?? schema["anyOf"]?.array {
      return choices.first.map(value) ?? .null
    }
    if let members = schema["properties"]?.object {
      var object = JSONObject()
      // Of a body that is sent, what must be there; of an answer, all.
      let isSent = schema["additionalProperties"] == .bool(false)
      let required = schema["required"]?.array ?? []
      for (member, part) in members where !isSent || required.contains(.string(member)) {
        object[member] = value(of: part)
      }
      return .object(object)
    }
    return schema["items"].map { .array([value(of: $0)]) } ?? .null
  }
}

extension JSON {
  /// As text in lines of a width that fits the page; what fits in one line is not broken.
  func lines(indentedBy indent: String = "") -> String {
    let line = text
    guard line.utf8.count + indent.utf8.count > 76 else { return line }
    let inner = indent + "  "
    if let members = object {
      let parts = members.map { name, value in
        "\(inner)\(JSON.string(name).text): \(value.lines(indentedBy: inner))"
      }
      return "{\n\(parts.joined(separator: ",\n"))\n\(indent)}"
    }
    guard let elements = array else { return line }
    let parts = elements.map { "\(inner)\($0.lines(indentedBy: inner))" }
    return "[\n\(parts.joined(separator: ",\n"))\n\(indent)]"
  }
}
