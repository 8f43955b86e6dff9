import FoundationEssentials
import Outbound
import TestSupport
import Testing

/// What Python's `email` package reads in a message.
struct ParsedMessage: Decodable {
  let names: [String]
  /// Name and address.
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
  /// Of quoted-printable lines, where they could be lost.
  let hasBlanksAtLineEnds: Bool

  /// Reads files.
  static func read(_ paths: [String]) async throws -> [ParsedMessage] {
    let program = try TestProgram(
      "/usr/bin/python3",
      ["-B", "\(Workplace.servers)/parse.py"] + paths
    )
    guard await program.end() == 0 else { throw ProgramError(reason: program.errors) }
    return try JSONDecoder().decode([ParsedMessage].self, from: Data(program.output.utf8))
  }

  /// Reads what messages are composed to.
  static func read(_ messages: [MailMessage]) async throws -> [ParsedMessage] {
    let folder = try Workplace.shared.makeFolder()
    let paths = messages.indices.map { "\(folder)/\($0)" }
    for (message, path) in zip(messages, paths) {
      try Data(message.composed()).write(to: URL(filePath: path))
    }
    return try await read(paths)
  }

  /// Expects what the message says, and nothing that a relay could choke on.
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

  /// With every line ended by LF, the last too.
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
