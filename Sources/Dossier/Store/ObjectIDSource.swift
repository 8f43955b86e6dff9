import Glibc
import Notation
import Synchronization

/// Where new ids come from.
enum ObjectIDSource {
  private static let process = (0..<5).map { _ in UInt8.random(in: .min ... .max) }
  private static let counter = Atomic<UInt32>(UInt32.random(in: .min ... .max))

  static func next() -> String {
    let seconds = UInt32(truncatingIfNeeded: time(nil))
    let count = counter.wrappingAdd(1, ordering: .relaxed).newValue
    var bytes: [UInt8] = []
    bytes.reserveCapacity(12)
    for shift in [24, 16, 8, 0] { bytes.append(UInt8(truncatingIfNeeded: seconds >> shift)) }
    bytes.append(contentsOf: process)
    for shift in [16, 8, 0] { bytes.append(UInt8(truncatingIfNeeded: count >> shift)) }
    return String(hexadecimal: bytes)
  }
}
