/// How much of a request the bytes at hand are, by FastCGI's record headers.
///
/// Only lengths are read here, also those of parameters; libfcgi reads the records. What this buys:
/// the loop calls libfcgi, whose reads block, only when all it will ask for has arrived.
/// - Source: FastCGI specification 1.0, sections 3.3 and 5.
enum RecordScan: Equatable {
  /// The parameters are not complete.
  case partialHead
  /// The parameters are complete, the body is not.
  case head
  /// All of it is here.
  case whole
  /// This is no request as web servers send them.
  ///
  /// Also with records of management, which none of them sends: libfcgi reads the content of those
  /// that it does not know as if it were the request's.
  case garbage

  private static let headerLength = 8
  private static let beginRequest: UInt8 = 1
  private static let params: UInt8 = 4
  private static let stdin: UInt8 = 5
  private static let managementID: UInt16 = 0

  /// - Parameter bytes: from the start of a record.
  init(_ bytes: UnsafeRawBufferPointer) {
    var offset = 0
    // Records of other requests are passed over by libfcgi, which waits on for those of this one.
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

/// The lengths of parameters, which come before each and may be cut by the ends of records.
///
/// libfcgi adds the two of a parameter as they are, and allocates what comes out: the sum of large
/// ones overflows (CVE-2025-23016), and one is two gigabytes.
/// - Source: FastCGI specification 1.0, section 3.4.
private struct ParameterLengths {
  /// Bytes of a name and a value that come before the next length.
  private var skipped = 0
  private var length = 0
  /// Bytes of the length that are still to come.
  private var missing = 0
  private var name: Int?

  /// Whether nothing of the last parameter is still to come.
  var areWhole: Bool { skipped == 0 && missing == 0 && name == nil }

  /// Goes through the content of a record.
  ///
  /// - Returns: whether all lengths so far are such as the window can hold.
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
        // The highest bit tells a length of four bytes.
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
