import CFastCGI
import Glibc

/// The parameters of a request, each where libfcgi has put it.
///
/// A name is looked for a dozen times a request: told apart by their lengths, most are passed over
/// without a look at their bytes.
@safe struct ParameterTable {
  private var entries: [Entry] = []

  @safe private struct Entry {
    /// `NAME=VALUE`
    let start: UnsafePointer<CChar>
    let nameCount: Int
    let count: Int
  }

  /// Takes the parameters of a request that libfcgi has just read.
  mutating func fill(from parameters: FCGX_ParamArray?) {
    entries.removeAll(keepingCapacity: true)
    guard var next = unsafe parameters else { return }
    while let start = unsafe next.pointee {
      let count = unsafe strlen(start)
      if let sign = unsafe memchr(start, Int32(UInt8(ascii: "=")), count) {
        let nameCount = unsafe UnsafeRawPointer(sign) - UnsafeRawPointer(start)
        entries.append(unsafe Entry(start: start, nameCount: nameCount, count: count))
      }
      unsafe next += 1
    }
  }

  mutating func clear() { entries.removeAll(keepingCapacity: true) }

  /// The value of a parameter, `REQUEST_METHOD`; nil when there is none.
  @unsafe func value(of name: StaticString) -> UnsafeBufferPointer<UInt8>? {
    for entry in entries where entry.nameCount == name.utf8CodeUnitCount {
      guard unsafe memcmp(entry.start, name.utf8Start, entry.nameCount) == 0 else { continue }
      let value = unsafe UnsafeRawPointer(entry.start + entry.nameCount + 1)
      return unsafe UnsafeBufferPointer(
        start: value.assumingMemoryBound(to: UInt8.self),
        count: entry.count - entry.nameCount - 1
      )
    }
    return nil
  }
}
