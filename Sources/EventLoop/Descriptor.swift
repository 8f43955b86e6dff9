import CLinux
import Glibc

/// A descriptor that is closed exactly once.
package struct Descriptor: ~Copyable {
  package private(set) var number: Int32

  /// Takes ownership of the result of a system call; nil if the call failed.
  init?(_ number: Int32) {
    guard number >= 0 else { return nil }
    self.number = number
  }

  /// Creates a file in memory with these bytes, positioned at its start.
  package init(holding bytes: [UInt8]) throws(EventLoopError) {
    let closeOnExec: UInt32 = 1
    number = unsafe CLinux_memfd_create("input", closeOnExec)
    guard number >= 0 else { throw EventLoopError(call: "memfd_create", code: errno) }
    guard Output.write(bytes, to: number), lseek(number, 0, SEEK_SET) == 0 else {
      throw EventLoopError(call: "write", code: errno)
    }
  }

  mutating func close() {
    if number >= 0 { Glibc.close(number) }
    number = -1
  }

  deinit { if number >= 0 { Glibc.close(number) } }
}

/// A pipe from a program, and the bytes read from it.
struct Inflow: ~Copyable {
  private let nearEnd: Descriptor
  /// The end for the program.
  ///
  /// Close it here once the program has it.
  var farEnd: Descriptor
  private let limit: Int
  private let isDrainedOn: Bool
  private var isAtEnd = false
  private(set) var bytes: [UInt8] = []

  /// Creates a pipe.
  ///
  /// - Parameters:
  ///   - limit: the number of bytes that are kept.
  ///   - isDrainedOn: whether to read and discard further bytes, so that the program does not
  ///     block.
  /// - Throws: `EventLoopError` if no descriptor is left.
  init(limit: Int, isDrainedOn: Bool = false) throws(EventLoopError) {
    var ends: [Int32] = [-1, -1]
    guard unsafe pipe2(&ends, O_CLOEXEC) == 0, let nearEnd = Descriptor(ends[0]),
      let farEnd = Descriptor(ends[1])
    else { throw EventLoopError(call: "pipe2", code: errno) }
    // Only this end is non-blocking; the program expects a blocking one.
    CLinux_make_nonblocking(nearEnd.number)
    self.nearEnd = nearEnd
    self.farEnd = farEnd
    self.limit = limit
    self.isDrainedOn = isDrainedOn
  }

  /// The descriptor for `poll`; -1, which `poll` ignores, if nothing more is read.
  var waited: Int32 {
    isAtEnd || (bytes.count >= limit && !isDrainedOn) ? -1 : nearEnd.number
  }

  /// Reads the available bytes.
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
      // Discarded input may be endless, so return to let the caller check the deadline.
      guard count > 0, !isFull else { return }
    }
  }
}
