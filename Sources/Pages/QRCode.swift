internal import CQREncode

/// A QR code of a text, with error correction of level M.
///
/// - Source: ISO/IEC 18004:2015.
package struct QRCode: Sendable {
  /// The number of modules in a row.
  package let size: Int
  /// The modules row by row; true is dark.
  package let modules: [Bool]

  /// The bytes of the longest text.
  ///
  /// It fills version 20. Cameras read larger codes badly.
  package static let limit = 666

  /// Encodes a text; nil if it is empty or too long.
  package init?(_ text: String) {
    let bytes = Array(text.utf8)
    guard bytes.count <= Self.limit,
      let code = unsafe QRcode_encodeData(Int32(bytes.count), bytes, 0, QR_ECLEVEL_M)
    else { return nil }
    defer { unsafe QRcode_free(code) }
    size = Int(unsafe code.pointee.width)
    // The other bits of a module describe what it is for.
    let data = unsafe UnsafeBufferPointer(start: code.pointee.data, count: size * size)
    modules = unsafe data.map { $0 & 1 == 1 }
  }

  /// The margin around the code, in modules.
  package static let margin = 4

  /// The path of an SVG in which a module is one unit and the margin is included.
  ///
  /// It has one rectangle for each run of dark modules, and only letters, digits and signs.
  package var path: String {
    var path = ""
    for row in 0..<size {
      var column = 0
      while column < size {
        guard modules[row * size + column] else {
          column += 1
          continue
        }
        let start = column
        while column < size, modules[row * size + column] { column += 1 }
        path += "M\(start + Self.margin) \(row + Self.margin)h\(column - start)v1H"
        path += "\(start + Self.margin)z"
      }
    }
    return path
  }
}
