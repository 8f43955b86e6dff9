import Glibc

/// The file of this program, by the name that started it.
///
/// An upgrade replaces it. If the name leads through a symbolic link to the current release, so
/// does this path.
enum OwnProgram {
  /// The absolute path, determined at the start, while the working directory is still the original.
  static let path: String = {
    let name = CommandLine.arguments.first ?? ""
    let found = name.utf8.contains(UInt8(ascii: "/")) ? name : searched(name)
    if let found, access(found, X_OK) == 0 {
      return found.hasPrefix("/") ? found : "\(folder)/\(found)"
    }
    return resolved
  }()

  private static func searched(_ name: String) -> String? {
    guard !name.isEmpty, let folders = getenv("PATH") else { return nil }
    return String(cString: folders).split(separator: ":").map { "\($0)/\(name)" }
      .first { access($0, X_OK) == 0 }
  }

  private static var folder: String {
    guard let folder = getcwd(nil, 0) else { return "" }
    defer { free(folder) }
    return String(cString: folder)
  }

  /// The link beside the file of this process, which also contains the other programs.
  private static var resolved: String {
    var buffer = [CChar](repeating: 0, count: 4_096)
    let count = max(0, readlink("/proc/self/exe", &buffer, buffer.count))
    let file = String(decoding: buffer[..<count].map(UInt8.init(bitPattern:)), as: UTF8.self)
    return file.split(separator: "/").dropLast().map { "/\($0)" }.joined() + "/dossierd"
  }
}
