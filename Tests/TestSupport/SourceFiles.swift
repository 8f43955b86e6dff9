import FoundationEssentials

/// The Swift files of the repository, for tests of what they declare.
package enum SourceFiles {
  package static let repository =
    #filePath.split(separator: "/").dropLast(3).map { "/\($0)" }.joined()

  /// The names of the modules.
  package static func modules() throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: "\(repository)/Sources")
  }

  /// Returns the files with their texts.
  ///
  /// - Parameters:
  ///   - module: the module; nil for all.
  ///   - parent: the folder with the modules, which is `Tests` for a target of tests.
  /// - Returns: the paths, which begin with the module, and the texts.
  /// - Throws: an error if a file cannot be read.
  package static func all(
    of module: String? = nil, below parent: String = "Sources"
  ) throws -> [(path: String, text: String)] {
    let sources = "\(repository)/\(parent)"
    let folder = module.map { "\($0)/" } ?? ""
    return try FileManager.default.subpathsOfDirectory(atPath: "\(sources)/\(folder)")
      .filter { $0.hasSuffix(".swift") }
      .map {
        (folder + $0, try String(contentsOfFile: "\(sources)/\(folder)\($0)", encoding: .utf8))
      }
  }
}
