import Encoding

/// Encoding of text in mail bodies.
enum TransferEncoding {
  /// Returns the lines of a body in ASCII, each of at most 998 bytes.
  ///
  /// ASCII with short enough lines is unchanged, so that a developer can follow a link in a file.
  /// Other text is quoted-printable.
  /// - Returns: the value of `Content-Transfer-Encoding`, and the lines without their ends. A
  ///   final line end adds no empty line.
  /// - Source: RFC 2045 §2.7 (7bit), §6.7 (quoted-printable).
  static func encode(_ body: String) -> (name: String, lines: [String]) {
    let lines = lines(of: Array(body.utf8))
    let isPlain = lines.allSatisfy { line in
      line.count <= 998 && line.allSatisfy { (0x20...0x7e).contains($0) || $0 == 0x09 }
    }
    return isPlain
      ? ("7bit", lines.map { String(decoding: $0, as: UTF8.self) })
      : ("quoted-printable", lines.flatMap(quotedPrintable))
  }

  /// Splits at CR LF, LF and CR.
  private static func lines(of bytes: [UInt8]) -> [[UInt8]] {
    var lines: [[UInt8]] = []
    var line: [UInt8] = []
    var isAfterReturn = false
    for byte in bytes {
      switch byte {
      case 0x0a where isAfterReturn: break
      case 0x0a, 0x0d:
        lines.append(line)
        line.removeAll(keepingCapacity: true)
      default: line.append(byte)
      }
      isAfterReturn = byte == 0x0d
    }
    if !line.isEmpty || lines.isEmpty { lines.append(line) }
    return lines
  }

  /// Returns one line as lines of at most 76 bytes, all but the last with a soft line end.
  private static func quotedPrintable(_ line: [UInt8]) -> [String] {
    var lines: [String] = []
    var current = ""
    for (index, byte) in line.enumerated() {
      let isLast = index == line.count - 1
      let piece = isLiteral(byte, isLast: isLast) ? String(UnicodeScalar(byte)) : escape(byte)
      if current.utf8.count + piece.utf8.count > (isLast ? 76 : 75) {
        lines.append(current + "=")
        current = ""
      }
      current += piece
    }
    return lines + [current]
  }

  /// Returns whether a byte needs no encoding.
  ///
  /// Blanks at the end of a line would be lost.
  private static func isLiteral(_ byte: UInt8, isLast: Bool) -> Bool {
    switch byte {
    case UInt8(ascii: "="): false
    case 0x21...0x7e: true
    case 0x09, 0x20: !isLast
    default: false
    }
  }

  private static func escape(_ byte: UInt8) -> String {
    var text = [UInt8(ascii: "=")]
    text.append(hexadecimal: byte, inUpperCase: true)
    return String(decoding: text, as: UTF8.self)
  }
}
