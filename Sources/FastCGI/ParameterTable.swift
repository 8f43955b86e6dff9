import CFastCGI
import Glibc

/// The parameters of a request, as pointers into libfcgi's memory.
///
/// A request looks up a dozen names. The length excludes most parameters without a comparison of
/// bytes.
@safe final class ParameterTable {
  private let entries = UnsafeMutableBufferPointer<Entry>.allocate(capacity: mostParameters)
  private var count = 0
  /// A bit for each length that a name has, modulo 64: most fields that are looked up are absent.
  private var lengths: UInt64 = 0
  /// nginx sends 17 parameters.
  ///
  /// Those after the first 128 are ignored.
  private static let mostParameters = 128

  @safe private struct Entry {
    /// The start of `NAME=VALUE`.
    let start: UnsafePointer<CChar>
    let nameCount: Int
    let count: Int

    var value: UnsafeBufferPointer<UInt8> {
      let first = unsafe UnsafeRawPointer(start + nameCount + 1)
      return unsafe UnsafeBufferPointer(
        start: first.assumingMemoryBound(to: UInt8.self), count: count - nameCount - 1
      )
    }
  }

  deinit { unsafe entries.deallocate() }

  /// Reads the parameters of a request that libfcgi has just parsed.
  func fill(from parameters: FCGX_ParamArray?) {
    var filled = 0
    lengths = 0
    if var next = unsafe parameters {
      while filled < Self.mostParameters, let start = unsafe next.pointee {
        let count = unsafe strlen(start)
        if let sign = unsafe memchr(start, Int32(UInt8(ascii: "=")), count) {
          let nameCount = unsafe UnsafeRawPointer(sign) - UnsafeRawPointer(start)
          unsafe entries.initializeElement(
            at: filled, to: Entry(start: start, nameCount: nameCount, count: count)
          )
          lengths |= Self.bit(of: nameCount)
          filled += 1
        }
        unsafe next += 1
      }
    }
    count = filled
  }

  func clear() { count = 0 }

  /// Returns the value of a parameter, such as `REQUEST_METHOD`; nil if it is absent.
  @unsafe func value(of name: StaticString) -> UnsafeBufferPointer<UInt8>? {
    let wanted = name.utf8CodeUnitCount
    for index in 0..<count {
      let entry = unsafe entries[index]
      guard entry.nameCount == wanted, unsafe memcmp(entry.start, name.utf8Start, wanted) == 0
      else { continue }
      return unsafe entry.value
    }
    return nil
  }

  /// Returns the value of a header field by its name: `If-Match` for `HTTP_IF_MATCH`.
  ///
  /// The media type and the length of the body have parameters without this prefix.
  /// - Source: RFC 3875 section 4.1.
  @unsafe func value(ofField name: StaticString) -> UnsafeBufferPointer<UInt8>? {
    let prefix = Self.fieldPrefix.utf8CodeUnitCount
    let wanted = prefix + name.utf8CodeUnitCount
    for index in 0..<(lengths & Self.bit(of: wanted) == 0 ? 0 : count) {
      let entry = unsafe entries[index]
      guard entry.nameCount == wanted, unsafe Self.isField(entry.start + prefix, name),
        unsafe memcmp(entry.start, Self.fieldPrefix.utf8Start, prefix) == 0
      else { continue }
      return unsafe entry.value
    }
    return unsafe isBodyType(name) ? value(of: "CONTENT_TYPE") : nil
  }

  private static let fieldPrefix: StaticString = "HTTP_"

  private static func bit(of length: Int) -> UInt64 { 1 &<< UInt64(truncatingIfNeeded: length) }

  /// Returns whether a parameter is a field's name in upper case, with `_` for `-`.
  private static func isField(_ parameter: UnsafePointer<CChar>, _ name: StaticString) -> Bool {
    for index in 0..<name.utf8CodeUnitCount {
      let sent = unsafe UInt8(bitPattern: parameter[index])
      let own = unsafe name.utf8Start[index]
      // Case is one bit. Ignoring it never turns one letter into another.
      if (sent ^ own) & 0xdf == 0 { continue }
      guard own == UInt8(ascii: "-"), sent == UInt8(ascii: "_") else { return false }
    }
    return true
  }

  private func isBodyType(_ name: StaticString) -> Bool {
    let type: StaticString = "Content-Type"
    let count = type.utf8CodeUnitCount
    return unsafe name.utf8CodeUnitCount == count
      && memcmp(name.utf8Start, type.utf8Start, count) == 0
  }
}
