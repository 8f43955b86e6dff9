import Glibc
import Encoding
import Synchronization

/// Generates ids that sort by time.
///
/// The first 52 bits are the time in units of 2^-20 seconds; the first 4 bytes are the seconds, as
/// in BSON. They increase with each id of a process. The other 44 bits are random, and constant in
/// a process. `new_object_id()` in the database makes ids of the same form.
enum ObjectIDSource {
  private static let process = UInt64.random(in: 0..<1 << 44)
  private static let latest = Atomic<UInt64>(0)

  static func next() -> String {
    var time = timespec()
    clock_gettime(CLOCK_REALTIME, &time)
    let now =
      UInt64(UInt32(truncatingIfNeeded: time.tv_sec)) << 20
      | (UInt64(truncatingIfNeeded: time.tv_nsec) << 20) / 1_000_000_000
    var last = latest.load(ordering: .relaxed)
    while true {
      let next = max(now, last &+ 1)
      let (isDone, found) = latest.compareExchange(
        expected: last, desired: next, ordering: .relaxed
      )
      if isDone { return text(next) }
      last = found
    }
  }

  /// Returns the digits of 52 bits of time and the process's 44 bits.
  private static func text(_ ticks: UInt64) -> String {
    let high = ticks << 12 | process >> 32
    var bytes: [UInt8] = []
    bytes.reserveCapacity(12)
    for shift: UInt64 in [56, 48, 40, 32, 24, 16, 8, 0] {
      bytes.append(UInt8(truncatingIfNeeded: high >> shift))
    }
    for shift: UInt64 in [24, 16, 8, 0] {
      bytes.append(UInt8(truncatingIfNeeded: process >> shift))
    }
    return String(hexadecimal: bytes)
  }
}
