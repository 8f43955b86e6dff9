import PictureContract

/// The chunks of a PNG file.
enum PNGChunks {
  /// Those that say how the picture looks; a profile is unpacked once, whatever comes after.
  private static let kept = [
    "IHDR", "PLTE", "IDAT", "IEND", "tRNS", "cHRM", "gAMA", "iCCP", "sBIT", "sRGB", "eXIf",
  ]
  .map { Array($0.utf8) }

  /// The file without the chunks that nobody sees: texts are packed, and libpng unpacks each, to
  /// many times the length of the file.
  ///
  /// - Parameter file: a whole PNG, as `PictureKind` says.
  /// - Returns: the file with chunks that are not looked at left out.
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
