package import EventLoop
import Glibc
package import JSON
package import Postgres
package import Transfer

/// Reads the lines of a file or of standard input in constant memory.
@EventLoop package final class LineReader {
  private var lines: LineSplitter
  package var position: InputPosition { lines.position }
  /// Whether the reader waits for input, which may come from a keyboard.
  package private(set) var isWaiting = false
  private let descriptor: Int32
  /// Reads run on this thread, since the loop must stay free for signals.
  private let pool = BlockingPool(name: "input", threads: 1, waiting: 1)
  private var isOver = false

  /// Opens a file; `-` is standard input.
  ///
  /// - Parameters:
  ///   - path: the path of the file.
  ///   - other: the digest of another file, which must be the same if the input is read again.
  /// - Throws: `.file` if the file cannot be opened.
  package init(opening path: String, boundTo other: BinaryBytes? = nil) throws(CommandFailure) {
    descriptor = path == "-" ? 0 : open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else {
      throw CommandFailure("\(path): \(String(cString: strerror(errno)))", .files)
    }
    var start = InputPosition()
    if let other { start.bind(to: other) }
    lines = LineSplitter(at: start)
  }

  /// Returns the next line without its line end, or nil at the end of the input.
  ///
  /// - Throws: `.file` if the input cannot be read.
  package func next() async throws(CommandFailure) -> LineSplitter.Line? {
    while true {
      if let line = lines.next(isOver: isOver) { return line }
      guard !isOver else { return nil }
      try await fill()
    }
  }

  private func fill() async throws(CommandFailure) {
    isWaiting = true
    defer { isWaiting = false }
    let descriptor = descriptor
    let chunk: [UInt8]?
    do throws(BlockingPoolError) {
      chunk = try await pool.run { Self.read(descriptor) }
    } catch {
      chunk = nil
    }
    guard let chunk else { throw CommandFailure("the input cannot be read", .files) }
    isOver = chunk.isEmpty
    lines.add(chunk)
  }

  /// Returns the next bytes.
  ///
  /// Returns nil on an error, and an empty array at the end.
  package nonisolated static func read(_ descriptor: Int32) -> [UInt8]? {
    while true {
      var count = 0
      let chunk = [UInt8](unsafeUninitializedCapacity: 262_144) { space, filled in
        count = Glibc.read(descriptor, space.baseAddress, space.count)
        filled = max(0, count)
      }
      if count >= 0 { return chunk }
      guard errno == EINTR else { return nil }
    }
  }
}

/// An input file of a command.
///
/// `-` is standard input, through which root can pass a file to a command that runs as another
/// user.
package enum InputFile {
  /// The maximum length: more than the description of a user, a set of keys or a schema needs.
  private static let limit = 8_388_608

  /// Reads a file.
  ///
  /// A file longer than `limit` is cut after more than `limit` bytes.
  ///
  /// - Throws: `.file` if the file cannot be read.
  package static func read(_ path: String, upTo limit: Int = limit) throws(CommandFailure)
    -> [UInt8]
  {
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
  package static func secret(_ path: String) throws(CommandFailure) -> [UInt8] {
    var secret = try read(path)
    guard secret.last == UInt8(ascii: "\n") else { return secret }
    secret.removeLast()
    if secret.last == UInt8(ascii: "\r") { secret.removeLast() }
    return secret
  }

  package static func json(_ path: String) throws(CommandFailure) -> JSON {
    let text = Array(try read(path)[...].withoutByteOrderMark)
    do throws(JSONError) {
      return try JSON.parse(text)
    } catch {
      throw CommandFailure("\(path) is not JSON at byte \(error.offset): \(error.detail)", .invalid)
    }
  }

  /// Reads a password, which must be UTF-8.
  package static func password(_ path: String) throws(CommandFailure) -> String {
    guard let password = String(validating: try secret(path), as: UTF8.self) else {
      throw CommandFailure("\(path) is not text in UTF-8", .invalid)
    }
    return password
  }
}
