package import PictureContract

/// A stored picture: upright, in sRGB, without metadata, within 1024 x 1024 pixels.
package struct Picture: Equatable, Sendable {
  /// JPEG, or PNG for transparency; its raw value is the `Content-Type`.
  package let type: PictureType
  /// In pixels, 1 to 1024.
  package let width: Int
  package let height: Int
  /// The encoded picture, at most `PictureLimits.output` bytes.
  package let bytes: [UInt8]

  /// Parses the output of `dossier-pictures`: a header line, and as many bytes as it says.
  ///
  /// A hostile file may have taken over that program, so everything that needs no decoding is
  /// checked.
  package init?(_ output: [UInt8]) {
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
