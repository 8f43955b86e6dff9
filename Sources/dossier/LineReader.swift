import Dossier
import EventLoop
import Glibc

/// The lines of a file or of standard input, in constant memory.
@EventLoop final class LineReader {
  enum Line {
    case text([UInt8])
    /// Longer than a line may be; passed over.
    case tooLong
  }

  /// More than a user's documents can have together, even with each character escaped.
  static let longest = 8_388_608

  private(set) var position = InputPosition()
  /// Whether it waits for the input, which may be somebody's keyboard.
  private(set) var isWaiting = false
  private let descriptor: Int32
  /// Reading must not hold up the loop: signals come by it.
  private let pool = BlockingPool(name: "input", threads: 1, waiting: 1)
  private var buffer: [UInt8] = []
  private var start = 0
  private var isOver = false

  init(_ descriptor: Int32) { self.descriptor = descriptor }

  /// The next line without its end; nil at the end of the input.
  ///
  /// - Throws: `.file`.
  func next() async throws(CommandFailure) -> Line? {
    var isTooLong = false
    var searched = start
    while true {
      if let end = buffer[searched...].firstIndex(of: UInt8(ascii: "\n")) {
        let line = Array(buffer[start..<end])
        position.pass(buffer[start...end])
        start = end + 1
        return isTooLong || line.count > Self.longest ? .tooLong : .text(line)
      }
      if buffer.count - start > Self.longest {
        isTooLong = true
        position.pass(buffer[start...], isEnd: false)
        start = buffer.count
      }
      searched = buffer.count - start
      buffer.removeFirst(start)
      start = 0
      if isOver {
        guard !buffer.isEmpty || isTooLong else { return nil }
        let line = buffer
        position.pass(line)
        buffer = []
        return isTooLong ? .tooLong : .text(line)
      }
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
    guard let chunk else { throw .file("the input cannot be read", .files) }
    isOver = chunk.isEmpty
    buffer += chunk
  }

  /// Nil when it cannot be read; nothing at its end.
  private nonisolated static func read(_ descriptor: Int32) -> [UInt8]? {
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
