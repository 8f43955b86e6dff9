import FoundationEssentials
import TestSupport
import Testing

/// Compares the modules with the diagram in the README.
@Suite struct ModuleTests {
  /// The line of each module in the diagram; a module may import those of later lines.
  private let order: [String: Int]

  init() throws {
    let readme = try String(contentsOfFile: "\(SourceFiles.repository)/README.md", encoding: .utf8)
    let lines = readme.split(separator: "\n", omittingEmptySubsequences: false)
    let start = try #require(lines.firstIndex(of: "Sources/"))
    var order: [String: Int] = [:]
    for (place, line) in lines[start...].dropFirst().prefix(while: { $0 != "```" }).enumerated() {
      let words = line.split(separator: " ").map(String.init)
      // The first line of a layer begins with its name. The last one has all modules of C.
      let names =
        words.first == "C" ? words.dropFirst() : line.hasPrefix("   ") ? words[..<1] : words[1..<2]
      for name in names { order[name] = place }
    }
    self.order = order
  }

  private func isOfC(_ module: String) -> Bool { order[module] == order["CPostgres"] }

  @Test func `the diagram has every module`() throws {
    #expect(try Set(SourceFiles.modules()) == Set(order.keys))
  }

  @Test func `a module imports only those below it`() throws {
    for (module, place) in order {
      for (path, text) in try SourceFiles.all(of: module) {
        for match in text.matches(of: /(?m)^(?:@testable |package )?import (\w+)/) {
          guard let imported = order[String(match.1)] else { continue }
          #expect(imported > place, "\(path) imports \(match.1)")
        }
      }
    }
  }

  @Test func `each module has a page about its purpose`() throws {
    for module in order.keys where !isOfC(module) {
      let path = "\(SourceFiles.repository)/Sources/\(module)/\(module).docc/\(module).md"
      let text = try String(contentsOfFile: path, encoding: .utf8)
      #expect(text.hasPrefix("# "), "\(path)")
    }
  }

  @Test func `no file has more than 300 lines, and no module more than 6,000`() throws {
    for module in order.keys {
      let lengths = try SourceFiles.all(of: module).map { path, text in
        let count = text.utf8.count { $0 == UInt8(ascii: "\n") }
        #expect(count <= 300, "\(path)")
        return count
      }
      #expect(lengths.reduce(0, +) <= 6_000, "\(module)")
    }
  }
  @Test func `no file of the tests has more than 300 lines`() throws {
    let folder = "\(SourceFiles.repository)/Tests"
    for path in try FileManager.default.subpathsOfDirectory(atPath: folder)
    where path.hasSuffix(".py") || path.hasSuffix(".swift") {
      let text = try String(contentsOfFile: "\(folder)/\(path)", encoding: .utf8)
      #expect(text.utf8.count { $0 == UInt8(ascii: "\n") } <= 300, "\(path)")
    }
  }

  @Test func `no function has more than 9 parameters`() throws {
    // The signature up to its list of parameters; a call of an initializer follows a dot.
    let signature = /(?m)^ *(?:[@a-z][\w()]* )*(?:func [^\s(<]+|init[?!]?)(?:<[^(]*>)?\(/
    for module in order.keys where !isOfC(module) {
      for (path, text) in try SourceFiles.all(of: module) {
        for match in text.matches(of: signature) {
          #expect(Self.parameters(of: text[match.range.upperBound...]) <= 9, "\(path): \(match.0)")
        }
      }
    }
  }

  /// Returns the number of parameters in a list, of which each has one colon outside of brackets.
  private static func parameters(of list: Substring) -> Int {
    var (count, depth) = (0, 0)
    for byte in list.utf8 where depth >= 0 {
      switch byte {
      case UInt8(ascii: "("), UInt8(ascii: "["), UInt8(ascii: "{"): depth += 1
      case UInt8(ascii: ")"), UInt8(ascii: "]"), UInt8(ascii: "}"): depth -= 1
      case UInt8(ascii: ":") where depth == 0: count += 1
      default: break
      }
    }
    return count
  }
}
