import Declarations
import JSON

/// Makes example values of shapes, for the reference.
struct ExampleValues {
  private let shapes: [String: Shape]

  init(_ shapes: [Shape]) {
    self.shapes = Dictionary(shapes.compactMap { shape in shape.name.map { ($0, shape) } }) { $1 }
  }

  /// Returns the example of a shape at the place that uses it.
  func value(of shape: Shape) -> JSON { shape.sample ?? value(of: shape.reference) }

  /// Returns the example of a schema, or one composed of the examples of its parts.
  ///
  /// A part without an example becomes null, which a test finds.
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
      // A request body shows its required members, a response all of them.
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
  /// Returns the text in lines that fit beside the prose.
  ///
  /// A value that fits in one line is not broken.
  func lines(indentedBy indent: String = "") -> String {
    let line = text
    guard line.utf8.count + indent.utf8.count > 50 else { return line }
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
