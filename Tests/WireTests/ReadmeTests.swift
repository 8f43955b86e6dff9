import FoundationEssentials
import Testing

/// Tests the list of modules in the README.
@Suite struct ReadmeTests {
  private static let root =
    #filePath.split(separator: "/").dropLast(3).map { "/\($0)" }.joined()

  @Test func `README names every module, and no other`() throws {
    let text = try String(contentsOfFile: "\(Self.root)/README.md", encoding: .utf8)
    let part = text.split(separator: "\nSources/\n").dropFirst().first ?? ""
    let lines = part.split(separator: "```").first?.split(separator: "\n") ?? []
    // Each line begins with names. Lines that are indented further continue a description.
    let named = lines.filter { $0.hasPrefix("  ") && !$0.hasPrefix("   ") }.flatMap { line in
      let names = line.dropFirst(2).split(separator: " ", omittingEmptySubsequences: false)
      let isList = line.hasPrefix("  CCrypt") || line.hasPrefix("  Migrations")
      return isList
        ? names.prefix { $0.first?.isLowercase != true || $0.hasPrefix("dossier") }
          .filter { !$0.isEmpty } : names.prefix(1)
    }
    let modules = try FileManager.default.contentsOfDirectory(atPath: "\(Self.root)/Sources")
    #expect(Set(named.map(String.init)) == Set(modules))
  }
}
