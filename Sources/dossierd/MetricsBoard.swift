import CLinux
import EventLoop
import Glibc

/// Memory that all workers share, in which each counts for itself and any can sum.
///
/// A slot is written by one worker at a time and keeps its counts for the next, so that sums never
/// fall. Words are 64 bits, aligned, and of one writer: a reader sees the one before or the one
/// after. The first word of a slot tells the layout of the rest, the next ones are what is now and
/// ends with its worker.
@EventLoop final class MetricsBoard {
  static let slots = 256
  static let words = 2_048
  /// How many words of a slot tell what is now, in every version of the program.
  nonisolated static let gauges = 63
  /// The descriptor under which a worker finds it.
  static let inherited: Int32 = 3
  let descriptor: Int32
  private let memory: UnsafeMutablePointer<UInt64>

  /// Makes it, for a supervisor or for a worker on its own.
  convenience init() {
    let descriptor = CLinux_memfd_create("dossier-metrics", 1)
    ftruncate(descriptor, off_t(Self.slots * Self.words * 8))
    self.init(descriptor)
  }

  /// Maps one that is there.
  init(_ descriptor: Int32) {
    self.descriptor = descriptor
    let length = Self.slots * Self.words * 8
    let address = mmap(nil, length, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0)
    guard let address, address != MAP_FAILED else {
      preconditionFailure("no memory for metrics: \(systemMessage(errno))")
    }
    memory = address.bindMemory(to: UInt64.self, capacity: Self.slots * Self.words)
  }

  /// The slot, emptied when it was written by another version of the program.
  func open(_ slot: Int, layout: UInt64) -> UnsafeMutablePointer<UInt64> {
    let start = memory + slot * Self.words
    if start[0] != layout {
      start.update(repeating: 0, count: Self.words)
      start[0] = layout
    }
    clear(slot)
    return start
  }

  /// Forgets what was true while its worker lived.
  func clear(_ slot: Int) {
    (memory + slot * Self.words + 1).update(repeating: 0, count: Self.gauges)
  }

  /// The greatest of a word over all slots of that layout.
  func greatest(_ word: Int, layout: UInt64) -> UInt64 {
    (0..<Self.slots).lazy.filter { self.memory[$0 * Self.words] == layout }
      .map { self.memory[$0 * Self.words + word] }.max() ?? 0
  }

  /// The sum of a word over all slots of that layout.
  func sum(_ word: Int, layout: UInt64) -> UInt64 {
    var sum: UInt64 = 0
    for slot in 0..<Self.slots where memory[slot * Self.words] == layout {
      sum &+= memory[slot * Self.words + word]
    }
    return sum
  }
}
