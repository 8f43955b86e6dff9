import Glibc

/// A settings file, read once.
package struct SettingsFile: Sendable {
  package let path: String
  /// The text, or nil if the file cannot be read.
  package let text: String?

  /// Reads a file.
  ///
  /// - Parameters:
  ///   - path: the path, which messages name.
  ///   - descriptor: a copy of the file to read instead; it stays open.
  package init(path: String, descriptor: Int32? = nil) {
    self.path = path
    if let descriptor {
      text = Self.text(descriptor)
    } else {
      let opened = open(path, O_RDONLY | O_CLOEXEC)
      text = opened < 0 ? nil : Self.text(opened)
      if opened >= 0 { close(opened) }
    }
  }

  private static func text(_ descriptor: Int32) -> String? {
    var bytes: [UInt8] = []
    var part = [UInt8](repeating: 0, count: 65_536)
    while true {
      let count = read(descriptor, &part, part.count)
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { return count < 0 ? nil : String(validating: bytes, as: UTF8.self) }
      bytes += part[..<count]
    }
  }
}
