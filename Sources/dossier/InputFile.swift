import Glibc
import JSON

/// An input file of a command.
///
/// `-` is standard input, through which root can pass a file to a command that runs as another
/// user.
enum InputFile {
  /// The maximum length: more than the description of a user, a set of keys or a schema needs.
  private static let limit = 8_388_608

  /// Reads a file.
  ///
  /// A file longer than `limit` is cut after more than `limit` bytes.
  ///
  /// - Throws: `.file` if the file cannot be read.
  static func read(_ path: String, upTo limit: Int = limit) throws(CommandFailure) -> [UInt8] {
    let descriptor = path == "-" ? 0 : open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { throw CommandFailure("\(path) cannot be read", .files) }
    defer { if descriptor > 0 { close(descriptor) } }
    var text: [UInt8] = []
    while text.count <= limit {
      guard let chunk = LineReader.read(descriptor) else {
        throw CommandFailure("\(path) cannot be read", .files)
      }
      if chunk.isEmpty { break }
      text += chunk
    }
    return text
  }

  /// Reads a secret, without the line end, which may be that of Windows.
  static func secret(_ path: String) throws(CommandFailure) -> [UInt8] {
    var secret = try read(path)
    guard secret.last == UInt8(ascii: "\n") else { return secret }
    secret.removeLast()
    if secret.last == UInt8(ascii: "\r") { secret.removeLast() }
    return secret
  }

  static func json(_ path: String) throws(CommandFailure) -> JSON {
    let text = Array(try read(path)[...].withoutByteOrderMark)
    do throws(JSONError) {
      return try JSON.parse(text)
    } catch {
      throw CommandFailure("\(path) is not JSON at byte \(error.offset): \(error.detail)", .invalid)
    }
  }

  /// Reads a password, which must be UTF-8.
  static func password(_ path: String) throws(CommandFailure) -> String {
    guard let password = String(validating: try secret(path), as: UTF8.self) else {
      throw CommandFailure("\(path) is not text in UTF-8", .invalid)
    }
    return password
  }
}
