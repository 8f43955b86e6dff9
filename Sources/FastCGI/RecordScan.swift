/// Determines from FastCGI's record headers how much of a request has arrived.
///
/// It reads only lengths, also those of parameters; libfcgi reads the records. So the loop calls
/// libfcgi, whose reads block, only when all needed bytes have arrived.
/// - Source: FastCGI specification 1.0, sections 3.3 and 5.
enum RecordScan: Equatable {
  /// The parameters are not complete.
  case partialHead
  /// The parameters are complete, but not the body.
  case head
  /// The request is complete.
  case whole
  /// The bytes are not a request as web servers send it.
  ///
  /// This includes management records, which no web server sends. libfcgi reads the content of
  /// unknown ones as if it belonged to the request.
  case garbage

  private static let headerLength = 8
  private static let beginRequest: UInt8 = 1
  private static let params: UInt8 = 4
  private static let stdin: UInt8 = 5
  private static let managementID: UInt16 = 0

  /// Scans received bytes.
  ///
  /// - Parameter bytes: the bytes, from the start of a record.
  init(_ bytes: UnsafeRawBufferPointer) {
    var offset = 0
    // libfcgi skips records of other requests, and waits for those of this one.
    var begun: UInt16?
    var isHeadComplete = false
    var lengths = ParameterLengths()
    while bytes.count - offset >= RecordScan.headerLength {
      let version = unsafe bytes[offset]
      let type = unsafe bytes[offset + 1]
      let id = unsafe UInt16(bytes[offset + 2]) << 8 | UInt16(bytes[offset + 3])
      let length = unsafe Int(bytes[offset + 4]) << 8 | Int(bytes[offset + 5])
      let padding = unsafe Int(bytes[offset + 6])
      let next = offset + RecordScan.headerLength + length + padding
      guard version == 1,
        id != RecordScan.managementID, begun != nil || type == RecordScan.beginRequest
      else {
        self = .garbage
        return
      }
      guard next <= bytes.count else { break }
      if type == RecordScan.params, id == begun {
        let content = offset + RecordScan.headerLength
        guard unsafe lengths.pass(bytes[content..<content + length]) else {
          self = .garbage
          return
        }
      }
      switch type {
      case RecordScan.beginRequest: begun = begun ?? id
      case RecordScan.params where length == 0 && id == begun:
        guard lengths.areWhole else {
          self = .garbage
          return
        }
        isHeadComplete = true
      case RecordScan.stdin where length == 0 && id == begun && isHeadComplete:
        self = .whole
        return
      default: break
      }
      offset = next
    }
    self = isHeadComplete ? .head : .partialHead
  }
}

/// The lengths that precede each parameter, which may be split between records.
///
/// libfcgi adds the two lengths of a parameter unchecked, and allocates the sum. The sum of large
/// ones overflows (CVE-2025-23016), and one alone may be two gigabytes.
/// - Source: FastCGI specification 1.0, section 3.4.
private struct ParameterLengths {
  /// Bytes of a name and a value before the next length.
  private var skipped = 0
  private var length = 0
  /// Bytes of the length that have not arrived.
  private var missing = 0
  private var name: Int?

  /// Whether the last parameter is complete.
  var areWhole: Bool { skipped == 0 && missing == 0 && name == nil }

  /// Scans the content of a record.
  ///
  /// - Returns: whether the window can hold all lengths so far.
  mutating func pass(_ content: Slice<UnsafeRawBufferPointer>) -> Bool {
    var offset = unsafe content.startIndex
    while unsafe offset < content.endIndex {
      if skipped > 0 {
        let passed = unsafe min(skipped, content.endIndex - offset)
        offset += passed
        skipped -= passed
        continue
      }
      let byte = unsafe Int(content[offset])
      offset += 1
      if missing > 0 {
        length = length << 8 | byte
        missing -= 1
      } else {
        // The highest bit marks a length of four bytes.
        length = byte & 0x7f
        missing = byte < 0x80 ? 0 : 3
      }
      guard missing == 0 else { continue }
      guard length <= FastCGISettings.window else { return false }
      if let name {
        skipped = name + length
        self.name = nil
      } else {
        name = length
      }
    }
    return true
  }
}
