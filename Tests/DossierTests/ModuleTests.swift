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
        for match in text.matches(of: /(?m)^(?:@testable |package |internal )?import (\w+)/) {
          guard let imported = order[String(match.1)] else { continue }
          #expect(imported > place, "\(path) imports \(match.1)")
        }
      }
    }
  }

  @Test func `a target depends on each module that it imports, and on no other`() throws {
    let manifest = try String(
      contentsOfFile: "\(SourceFiles.repository)/Package.swift", encoding: .utf8
    )
    let readers = try #require(manifest.firstMatch(of: /let readers: [^=]*= \[([^\]]*)\]/)).1
    let known = Self.names(in: manifest[...])
    let target =
      /[tT]arget\(\s*name: "([\w-]+)",\s*(?:dependencies: (?:\[([^\]]*)\]|(readers)),\s*)?(?:path: "Tests\/(\w+)")?/
    let targets = manifest.matches(of: target)
    #expect(Set(targets.map { String($0.1) }).isSuperset(of: order.keys.filter { !isOfC($0) }))
    for match in targets {
      let declared = Self.names(in: match.3 == nil ? match.2 ?? "" : readers)
      var imports: Set<String> = []
      let parent = order[String(match.1)] == nil ? "Tests" : "Sources"
      for (path, text) in try SourceFiles.all(of: String(match.4 ?? match.1), below: parent) {
        for imported in text.matches(of: /(?m)^(?:@\w+ )*(?:package |internal )?import (\w+)/)
        where known.contains(String(imported.1)) {
          imports.insert(String(imported.1))
          #expect(declared.contains(String(imported.1)), "\(path) imports \(imported.1)")
        }
      }
      // Tests also depend on the programs that they start.
      let unused = declared.subtracting(imports).filter { !$0.hasPrefix("dossier") }
      #expect(unused == [], "no file of \(match.1) imports these")
    }
  }

  /// Returns the quoted names of modules and products in a part of the manifest.
  private static func names(in manifest: Substring) -> Set<String> {
    let products = manifest.replacing(/, package: "[\w-]+"/, with: "")
    return Set(products.matches(of: /"([\w-]+)"/).map { String($0.1.replacing("-", with: "_")) })
  }

  @Test func `each module has a page about its purpose`() throws {
    for module in order.keys where !isOfC(module) {
      let path = "\(SourceFiles.repository)/Sources/\(module)/\(module).docc/\(module).md"
      let text = try String(contentsOfFile: path, encoding: .utf8)
      #expect(text.hasPrefix("# "), "\(path)")
    }
  }

  @Test func `no file has more than 500 lines, and no module more than 6,000`() throws {
    for module in order.keys {
      let lengths = try SourceFiles.all(of: module).map { path, text in
        let count = text.utf8.count { $0 == UInt8(ascii: "\n") }
        #expect(count <= 500, "\(path)")
        return count
      }
      #expect(lengths.reduce(0, +) <= 6_000, "\(module)")
    }
  }

  @Test func `no file of the tests has more than 500 lines`() throws {
    let folder = "\(SourceFiles.repository)/Tests"
    for path in try FileManager.default.subpathsOfDirectory(atPath: folder)
    where path.hasSuffix(".py") || path.hasSuffix(".swift") {
      let text = try String(contentsOfFile: "\(folder)/\(path)", encoding: .utf8)
      #expect(text.utf8.count { $0 == UInt8(ascii: "\n") } <= 500, "\(path)")
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
