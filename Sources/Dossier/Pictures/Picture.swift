package import PictureContract

/// A picture as it is kept: upright, in sRGB, without metadata, within 1024 x 1024 pixels.
package struct Picture: Equatable, Sendable {
  /// JPEG, or PNG where something shows through; what `Content-Type` says is its raw value.
  package let type: PictureType
  /// In pixels, 1 to 1024.
  package let width: Int
  package let height: Int
  /// The encoded picture, at most `PictureLimits.output` bytes.
  package let bytes: [UInt8]

  /// Reads what `dossier-pictures` has written: a header line, and as many bytes as it says.
  ///
  /// The program may have been taken over by the file that it decoded, so nothing is believed that
  /// can be checked without decoding.
  init?(_ output: [UInt8]) {
    guard let lineEnd = output.prefix(64).firstIndex(of: UInt8(ascii: "\n")),
      let header = PictureHeader(line: output[..<lineEnd]),
      output.count - lineEnd - 1 == header.count,
      output[(lineEnd + 1)...].starts(with: header.type.signature)
    else { return nil }
    type = header.type
    width = header.width
    height = header.height
    bytes = Array(output[(lineEnd + 1)...])
  }
}
