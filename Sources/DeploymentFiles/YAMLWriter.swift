import Encoding
package import JSON

/// Writes JSON as YAML that `YAMLReader` reads as the same value.
package struct YAMLWriter {
  package private(set) var text = ""

  package init(_ value: JSON) {
    write(value, indent: 0, after: "")
  }

  /// Writes a value behind what starts its line, such as `name:`.
  private mutating func write(_ value: JSON, indent: Int, after start: String) {
    let margin = String(repeating: "  ", count: indent)
    let gap = start.isEmpty ? "" : " "
    switch value {
    case .object(let object) where object.count > 0:
      if !start.isEmpty { text += start + "\n" }
      for (name, member) in object {
        write(member, indent: indent + 1, after: "\(margin)\(Self.scalar(name)):")
      }
    case .array(let elements) where !elements.isEmpty:
      if !start.isEmpty { text += start + "\n" }
      for element in elements { write(element, indent: indent + 1, after: "\(margin)-") }
    case .string(let string):
      guard let lines = Self.lines(of: string) else {
        text += start + gap + Self.scalar(string) + "\n"
        return
      }
      text += start + gap + (string.utf8.last == UInt8(ascii: "\n") ? "|\n" : "|-\n")
      let inner = String(repeating: "  ", count: max(indent, 1))
      for line in lines { text += line.isEmpty ? "\n" : "\(inner)\(line)\n" }
    default: text += start + gap + value.text + "\n"
    }
  }

  /// Returns the lines of a text that can be written as a block; nil for others.
  private static func lines(of string: String) -> [String]? {
    let scalars = string.unicodeScalars
    guard let first = scalars.first, first != " ", first != "\n", scalars.contains("\n"),
      scalars.allSatisfy({ $0 == "\n" || isPrintable($0) })
    else { return nil }
    var lines = scalars.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
    if lines.last == "" { lines.removeLast() }
    return lines.last?.utf8.contains { $0 != UInt8(ascii: " ") } == true ? lines : nil
  }

  /// Returns a text as a plain word if it means the same to every reader, else in quotes.
  private static func scalar(_ string: String) -> String {
    let bytes = string.utf8
    let isWord =
      bytes.first.map { $0.isLetterOrDigit && !$0.isDigit || $0 == UInt8(ascii: "/") } == true
      && bytes.allSatisfy { $0.isLetterOrDigit || marks.contains($0) }
      && bytes.last != UInt8(ascii: ":") && !words.contains(string.lowercased())
    return isWord ? string : quoted(string)
  }

  private static let marks = Array("-._/:@+".utf8)
  /// Words that some reader takes for null or a Boolean.
  private static let words: Set<String> = [
    "null", "true", "false", "y", "n", "yes", "no", "on", "off",
  ]

  /// Returns a text in quotes, with all that is not printable escaped.
  private static func quoted(_ string: String) -> String {
    var quoted = "\""
    for scalar in string.unicodeScalars {
      switch scalar {
      case "\"": quoted += "\\\""
      case "\\": quoted += "\\\\"
      case "\n": quoted += "\\n"
      case "\t": quoted += "\\t"
      default:
        if isPrintable(scalar) {
          quoted.unicodeScalars.append(scalar)
        } else {
          let digits = String(scalar.value, radix: 16)
          quoted += "\\U" + String(repeating: "0", count: 8 - digits.count) + digits
        }
      }
    }
    return quoted + "\""
  }

  /// - Source: YAML 1.2.2 section 5.1, without what some readers take for line ends.
  private static func isPrintable(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.value {
    case 0x20...0x7e, 0xa0...0x2027, 0x202a...0xd7ff, 0xe000...0xfefe, 0xff00...0xfffd,
      0x10000...0x10ffff:
      true
    default: false
    }
  }
}
