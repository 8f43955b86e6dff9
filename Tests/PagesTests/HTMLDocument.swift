/// A document as a browser reads it, for markup that is well formed.
///
/// It works on Unicode scalars, as browsers do. So a mark that combines with a quote hides nothing.
struct HTMLDocument {
  struct Element {
    let tag: String
    let attributes: [(name: String, value: String)]
    /// The texts of the element and of those in it.
    var text = ""
    /// The tags around the element, from the outside.
    let ancestors: [String]

    subscript(_ name: String) -> String? { attributes.first { $0.name == name }?.value }
  }

  struct Malformed: Error { let reason: String }

  private(set) var elements: [Element] = []

  private static let empty: Set<String> = [
    "br", "hr", "img", "input", "link", "meta", "source", "wbr",
  ]

  init(_ html: String) throws(Malformed) {
    var rest = Array(html.unicodeScalars)[...]
    let doctype = Array("<!doctype html>\n".unicodeScalars)
    guard rest.starts(with: doctype) else { throw Malformed(reason: "no doctype") }
    rest = rest.dropFirst(doctype.count)
    var open: [Int] = []
    while let scalar = rest.first {
      guard scalar == "<" else {
        let text = rest.prefix { $0 != "<" }
        rest = rest[text.endIndex...]
        let decoded = try Self.decoded(text)
        for index in open { elements[index].text += decoded }
        continue
      }
      rest.removeFirst()
      if rest.first == "/" {
        rest.removeFirst()
        let tag = Self.takeName(&rest)
        guard rest.popFirst() == ">", let last = open.popLast(), elements[last].tag == tag else {
          throw Malformed(reason: "</\(tag)> closes nothing")
        }
        continue
      }
      let tag = Self.takeName(&rest)
      let attributes = try Self.takeAttributes(&rest, tag)
      let ancestors = open.map { elements[$0].tag }
      elements.append(Element(tag: tag, attributes: attributes, ancestors: ancestors))
      if !Self.empty.contains(tag), attributes.last?.name != "/" { open.append(elements.count - 1) }
    }
    guard open.isEmpty else { throw Malformed(reason: "\(elements[open[0]].tag) is not closed") }
  }

  /// The tags and the names of attributes, which no value from outside may change.
  var skeleton: [String] {
    elements.map { element in
      ([element.tag] + element.attributes.map(\.name)).joined(separator: " ")
    }
  }

  func all(_ tag: String) -> [Element] { elements.filter { $0.tag == tag } }

  private static func takeName(_ rest: inout ArraySlice<Unicode.Scalar>) -> String {
    let name = rest.prefix {
      $0.properties.isAlphabetic || "0123456789-:".unicodeScalars.contains($0)
    }
    rest = rest[name.endIndex...]
    return String(String.UnicodeScalarView(name))
  }

  private static func takeAttributes(
    _ rest: inout ArraySlice<Unicode.Scalar>, _ tag: String
  ) throws(Malformed) -> [(name: String, value: String)] {
    guard !tag.isEmpty else { throw Malformed(reason: "a bracket without a tag") }
    var attributes: [(name: String, value: String)] = []
    while true {
      while let space = rest.first, space == " " || space == "\n" { rest.removeFirst() }
      if rest.first == ">" {
        rest.removeFirst()
        return attributes
      }
      if rest.starts(with: ["/", ">"]) {
        rest.removeFirst(2)
        return attributes + [("/", "")]
      }
      let name = takeName(&rest)
      guard !name.isEmpty else {
        throw Malformed(reason: "\(String(describing: rest.first)) in <\(tag)>")
      }
      guard rest.first == "=" else {
        attributes.append((name, ""))
        continue
      }
      rest.removeFirst()
      guard rest.popFirst() == "\"" else { throw Malformed(reason: "\(name) has no quotes") }
      let value = rest.prefix { $0 != "\"" }
      rest = rest[value.endIndex...].dropFirst()
      attributes.append((name, try decoded(value)))
    }
  }

  private static let entities = ["amp": "&", "lt": "<", "gt": ">", "quot": "\"", "#39": "'"]

  private static func decoded(_ text: ArraySlice<Unicode.Scalar>) throws(Malformed) -> String {
    var result = ""
    var rest = text
    while let scalar = rest.popFirst() {
      guard scalar == "&" else {
        result.unicodeScalars.append(scalar)
        continue
      }
      let name = rest.prefix { $0 != ";" }
      guard let entity = entities[String(String.UnicodeScalarView(name))] else {
        throw Malformed(reason: "an ampersand is not escaped")
      }
      result += entity
      rest = rest[name.endIndex...].dropFirst()
    }
    return result
  }
}
