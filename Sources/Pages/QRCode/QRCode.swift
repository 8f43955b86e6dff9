/// A QR code of a text, with error correction of level M.
///
/// It has the byte mode and the versions 1 to 20, which hold 666 bytes. That is enough for the URI of
/// an authenticator app, so no library in C is needed for it.
/// - Source: ISO/IEC 18004:2015.
package struct QRCode: Sendable {
  /// The number of modules in a row.
  package let size: Int
  /// The modules row by row; true is dark.
  package let modules: [Bool]

  /// Encodes a text; nil if it is too long.
  package init?(_ text: String) {
    guard let version = QRCodeVersion.smallest(forBytes: text.utf8.count) else { return nil }
    let words = version.codewords(of: Array(text.utf8))
    var matrix = QRCodeMatrix(version.number)
    matrix.place(words)
    let candidates = (0..<8).map { matrix.masked(by: $0) }
    let best = candidates.min { $0.penalty < $1.penalty } ?? matrix
    size = best.size
    modules = best.isDark
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
