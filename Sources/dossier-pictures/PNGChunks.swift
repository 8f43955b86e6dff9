import PictureContract

/// The chunks of a PNG file.
enum PNGChunks {
  /// The chunks that affect how the picture looks.
  ///
  /// A profile is unpacked only once, even if others follow.
  private static let kept = [
    "IHDR", "PLTE", "IDAT", "IEND", "tRNS", "cHRM", "gAMA", "iCCP", "sBIT", "sRGB", "eXIf",
  ]
  .map { Array($0.utf8) }

  /// Returns the file without invisible chunks.
  ///
  /// Texts are compressed, and libpng would unpack each to many times the length of the file.
  ///
  /// - Parameter file: a whole PNG, as checked by `PictureKind`.
  /// - Returns: the file without the chunks that are not used.
  /// - Source: PNG third edition, sections 5 and 11.
  static func shown(in file: [UInt8]) -> [UInt8] {
    var result = Array(file.prefix(PictureType.png.signature.count))
    result.reserveCapacity(file.count)
    var offset = result.count
    while offset + 12 <= file.count {
      let length = file[offset..<offset + 4].reduce(0) { $0 << 8 | Int($1) }
      let end = offset + 12 + length
      guard end <= file.count else { break }
      let kind = file[offset + 4..<offset + 8]
      if kept.contains(where: { kind.elementsEqual($0) }) { result += file[offset..<end] }
      offset = end
      if kind.elementsEqual("IEND".utf8) { break }
    }
    return result
  }
}
