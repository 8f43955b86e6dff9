import CLinux
import Glibc

/// A descriptor that is closed once.
struct Descriptor: ~Copyable {
  private(set) var number: Int32

  /// Takes over what a system call returned; nil when that was a failure.
  init?(_ number: Int32) {
    guard number >= 0 else { return nil }
    self.number = number
  }

  /// A file in memory with these bytes, read from its start.
  init(holding bytes: [UInt8]) throws(EventLoopError) {
    let closeOnExec: UInt32 = 1
    number = unsafe CLinux_memfd_create("input", closeOnExec)
    guard number >= 0 else { throw EventLoopError(call: "memfd_create", code: errno) }
    var done = 0
    while done < bytes.count {
      let wrote = unsafe bytes.withUnsafeBytes { buffer in
        unsafe pwrite(
          number,
          buffer.baseAddress.map { unsafe $0 + done },
          bytes.count - done,
          off_t(done)
        )
      }
      if wrote < 0, errno == EINTR { continue }
      guard wrote > 0 else { throw EventLoopError(call: "pwrite", code: errno) }
      done += wrote
    }
  }

  mutating func close() {
    if number >= 0 { Glibc.close(number) }
    number = -1
  }

  deinit { if number >= 0 { Glibc.close(number) } }
}

/// A pipe, and what has come out of it.
struct Inflow: ~Copyable {
  private let nearEnd: Descriptor
  /// For the program; to be closed here once it has it.
  var farEnd: Descriptor
  private let limit: Int
  private let isDrainedOn: Bool
  private var isAtEnd = false
  private(set) var bytes: [UInt8] = []

  /// Makes a pipe.
  ///
  /// - Parameters:
  ///   - limit: bytes that are kept.
  ///   - isDrainedOn: what is more is read and dropped, so that the program need not wait.
  /// - Throws: `EventLoopError` when no descriptor is left.
  init(limit: Int, isDrainedOn: Bool = false) throws(EventLoopError) {
    var ends: [Int32] = [-1, -1]
    guard unsafe pipe2(&ends, O_CLOEXEC) == 0, let nearEnd = Descriptor(ends[0]),
      let farEnd = Descriptor(ends[1])
    else { throw EventLoopError(call: "pipe2", code: errno) }
    // Only this end: the program's is to block.
    CLinux_make_nonblocking(nearEnd.number)
    self.nearEnd = nearEnd
    self.farEnd = farEnd
    self.limit = limit
    self.isDrainedOn = isDrainedOn
  }

  /// The descriptor to wait for; -1, for which `poll` does not wait, when nothing more is read.
  var waited: Int32 {
    isAtEnd || (bytes.count >= limit && !isDrainedOn) ? -1 : nearEnd.number
  }

  /// Reads what has arrived.
  mutating func drain() {
    while waited >= 0 {
      let isFull = bytes.count >= limit
      let room = isFull ? 65_536 : min(65_536, limit - bytes.count)
      var count = 0
      let part = unsafe [UInt8](unsafeUninitializedCapacity: room) { buffer, initialized in
        count = unsafe read(nearEnd.number, buffer.baseAddress, room)
        initialized = max(0, count)
      }
      if !isFull { bytes += part }
      if count == 0 { isAtEnd = true }
      // What is dropped may have no end: the caller looks at the time in between.
      guard count > 0, !isFull else { return }
    }
  }
}
