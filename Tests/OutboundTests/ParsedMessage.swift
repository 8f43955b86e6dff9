import FoundationEssentials
import Outbound
import TestSupport
import Testing

/// A message as Python's `email` package parses it.
struct ParsedMessage: Decodable {
  let names: [String]
  /// The name and the address.
  let from: [String]
  let to: [String]
  let subject: String
  let date: Int
  let id: String
  let kind: String
  let encodings: [String]
  let text: String?
  let html: String?
  let defects: [String]
  let longest: Int
  let longestInHead: Int
  let isASCII: Bool
  let hasBareLineEnds: Bool
  /// Whether quoted-printable lines end with blanks, which a relay could drop.
  let hasBlanksAtLineEnds: Bool

  /// Parses files.
  static func read(_ paths: [String]) async throws -> [ParsedMessage] {
    let program = try TestProgram(
      "/usr/bin/python3", ["-B", "\(Workplace.servers)/parse.py"] + paths
    )
    guard await program.end() == 0 else { throw ProgramError(reason: program.errors) }
    return try JSONDecoder().decode([ParsedMessage].self, from: Data(program.output.utf8))
  }

  /// Composes messages, and parses them.
  static func read(_ messages: [MailMessage]) async throws -> [ParsedMessage] {
    let folder = try Workplace.shared.makeFolder()
    let paths = messages.indices.map { "\(folder)/\($0)" }
    for (message, path) in zip(messages, paths) {
      try Data(message.composed()).write(to: URL(filePath: path))
    }
    return try await read(paths)
  }

  /// Expects the content of the message, in a form that every relay accepts.
  func expectToBe(_ message: MailMessage, _ location: SourceLocation = #_sourceLocation) {
    #expect(names.count == Set(names).count, sourceLocation: location)
    #expect(from == [message.from.name ?? "", message.from.address], sourceLocation: location)
    #expect(to == [message.to.name ?? "", message.to.address], sourceLocation: location)
    #expect(subject == message.subject, sourceLocation: location)
    #expect(date == message.date, sourceLocation: location)
    #expect(id == "<\(message.id)>", sourceLocation: location)
    #expect(text == Self.ended(message.text), sourceLocation: location)
    #expect(html == message.html.map(Self.ended), sourceLocation: location)
    #expect(defects == [], sourceLocation: location)
    #expect(longest <= 998, sourceLocation: location)
    #expect(longestInHead <= 300, sourceLocation: location)
    #expect(isASCII && !hasBareLineEnds && !hasBlanksAtLineEnds, sourceLocation: location)
  }

  /// Returns the text with LF after each line, including the last one.
  private static func ended(_ text: String) -> String {
    var scalars: [Unicode.Scalar] = []
    for scalar in text.unicodeScalars {
      if scalar == "\n", scalars.last == "\r" { scalars.removeLast() }
      if scalars.last == "\r" { scalars[scalars.count - 1] = "\n" }
      scalars.append(scalar)
    }
    if scalars.last == "\r" { scalars.removeLast() }
    let hasEnd = scalars.last == "\n" && !text.unicodeScalars.isEmpty
    if !hasEnd || text.unicodeScalars.last == "\r" { scalars.append("\n") }
    return String(String.UnicodeScalarView(scalars))
  }
}
