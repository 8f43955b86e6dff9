import CLinux
import EventLoop
import Glibc

/// Memory shared by all workers.
///
/// Each counts in its own slot, and any worker can sum all slots.
///
/// One worker at a time writes a slot, and leaves its counts to the next one. So sums never
/// decrease. The words are aligned, have 64 bits and one writer each. So a reader sees either the
/// old or the new value. The first word of a slot identifies the layout of the rest. The gauges
/// follow; they end with the worker.
@EventLoop final class MetricsBoard {
  static let slots = 256
  /// Room for some 750 routes: five words each, beside counters and histograms.
  static let words = 4_096
  /// The number of gauge words in a slot, the same in every version of the program.
  nonisolated static let gauges = 63
  /// The place of the heartbeat in a slot, the last gauge; the same in every version of the program.
  nonisolated static let heartbeat = gauges
  /// The descriptor of the board in a worker.
  static let inherited: Int32 = 3
  let descriptor: Int32
  private let memory: UnsafeMutablePointer<UInt64>

  /// Creates a board, for a supervisor or for a standalone worker.
  convenience init() {
    let descriptor = CLinux_memfd_create("dossier-metrics", 1)
    ftruncate(descriptor, off_t(Self.slots * Self.words * 8))
    self.init(descriptor)
  }

  /// Maps an existing board.
  init(_ descriptor: Int32) {
    self.descriptor = descriptor
    let length = Self.slots * Self.words * 8
    let address = mmap(nil, length, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0)
    guard let address, address != MAP_FAILED else {
      preconditionFailure("no memory for metrics: \(systemMessage(errno))")
    }
    memory = address.bindMemory(to: UInt64.self, capacity: Self.slots * Self.words)
  }

  /// Returns a slot.
  ///
  /// Empties it if another version of the program wrote it.
  func open(_ slot: Int, layout: UInt64) -> UnsafeMutablePointer<UInt64> {
    let start = memory + slot * Self.words
    if start[0] != layout {
      start.update(repeating: 0, count: Self.words)
      start[0] = layout
    }
    clear(slot)
    return start
  }

  /// Clears the gauges of an ended worker.
  func clear(_ slot: Int) {
    (memory + slot * Self.words + 1).update(repeating: 0, count: Self.gauges)
  }

  /// Returns the number of heartbeats of the worker of a slot; 0 before its first.
  func heartbeats(of slot: Int) -> UInt64 { memory[slot * Self.words + Self.heartbeat] }

  /// Returns the maximum of a word over all slots of a layout.
  func greatest(_ word: Int, layout: UInt64) -> UInt64 {
    (0..<Self.slots).lazy.filter { self.memory[$0 * Self.words] == layout }
      .map { self.memory[$0 * Self.words + word] }.max() ?? 0
  }

  /// Returns the sum of a word over all slots of a layout.
  func sum(_ word: Int, layout: UInt64) -> UInt64 {
    var sum: UInt64 = 0
    for slot in 0..<Self.slots where memory[slot * Self.words] == layout {
      sum &+= memory[slot * Self.words + word]
    }
    return sum
  }
}
