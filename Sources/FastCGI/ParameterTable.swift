import CFastCGI
import Glibc

/// The parameters of a request, each where libfcgi has put it.
///
/// A name is looked for a dozen times a request: told apart by their lengths, most are passed over
/// without a look at their bytes.
@safe final class ParameterTable {
  private let entries = UnsafeMutableBufferPointer<Entry>.allocate(capacity: mostParameters)
  private var count = 0
  /// Ours are 15; what is behind these is not looked at.
  private static let mostParameters = 128

  @safe private struct Entry {
    /// `NAME=VALUE`.
    let start: UnsafePointer<CChar>
    let nameCount: Int
    let count: Int
  }

  deinit { unsafe entries.deallocate() }

  /// Takes the parameters of a request that libfcgi has just read.
  func fill(from parameters: FCGX_ParamArray?) {
    var filled = 0
    if var next = unsafe parameters {
      while filled < Self.mostParameters, let start = unsafe next.pointee {
        let count = unsafe strlen(start)
        if let sign = unsafe memchr(start, Int32(UInt8(ascii: "=")), count) {
          let nameCount = unsafe UnsafeRawPointer(sign) - UnsafeRawPointer(start)
          unsafe entries.initializeElement(
            at: filled,
            to: Entry(start: start, nameCount: nameCount, count: count)
          )
          filled += 1
        }
        unsafe next += 1
      }
    }
    count = filled
  }

  func clear() { count = 0 }

  /// The value of a parameter, `REQUEST_METHOD`; nil when there is none.
  @unsafe func value(of name: StaticString) -> UnsafeBufferPointer<UInt8>? {
    let wanted = name.utf8CodeUnitCount
    for index in 0..<count {
      let entry = unsafe entries[index]
      guard entry.nameCount == wanted, unsafe memcmp(entry.start, name.utf8Start, wanted) == 0
      else { continue }
      let value = unsafe UnsafeRawPointer(entry.start + wanted + 1)
      return unsafe UnsafeBufferPointer(
        start: value.assumingMemoryBound(to: UInt8.self),
        count: entry.count - wanted - 1
      )
    }
    return nil
  }
}
