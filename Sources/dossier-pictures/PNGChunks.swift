import PictureContract

/// The chunks of a PNG file.
struct PNGChunks {
  /// The file without invisible chunks.
  ///
  /// Texts are compressed, and libpng would unpack each to many times the length of the file.
  let shown: [UInt8]
  /// The colour space, if it is described by numbers that take precedence over a profile.
  let colour: ColourNumbers?

  /// The chunks that affect how the picture looks to libpng.
  ///
  /// A profile is unpacked only once, even if others follow.
  private static let kept = [
    "IHDR", "PLTE", "IDAT", "IEND", "tRNS", "cHRM", "gAMA", "iCCP", "sBIT", "sRGB", "eXIf",
  ]
  .map { Array($0.utf8) }

  /// Reads a whole PNG, as checked by `PictureKind`.
  ///
  /// `cICP` takes precedence over `iCCP`, this over `sRGB`, and this over `gAMA` and `cHRM`.
  ///
  /// - Source: PNG third edition, sections 4.3, 5 and 11.
  init(_ file: [UInt8]) {
    var result = Array(file.prefix(PictureType.png.signature.count))
    result.reserveCapacity(file.count)
    var (codes, gamma, chromaticities): (ColourNumbers?, Int?, [Int]?) = (nil, nil, nil)
    var (hasSpace, isBeforePixels) = (false, true)
    var profile = 0..<0
    var offset = result.count
    while offset + 12 <= file.count {
      let length = Self.big(file[offset..<offset + 4])
      let end = offset + 12 + length
      guard end <= file.count else { break }
      let kind = file[offset + 4..<offset + 8]
      let content = file[offset + 8..<end - 4]
      switch String(decoding: kind, as: UTF8.self) {
      case "PLTE", "IDAT": isBeforePixels = false
      case _ where !isBeforePixels: break
      case "cICP" where codes == nil: codes = Self.codes(content)
      case "iCCP" where profile.isEmpty:
        hasSpace = true
        profile = result.count..<result.count + end - offset
      case "sRGB": hasSpace = true
      case "gAMA" where gamma == nil && length == 4: gamma = Self.big(content)
      case "cHRM" where chromaticities == nil && length == 32:
        chromaticities = stride(from: content.startIndex, to: content.endIndex, by: 4)
          .map { Self.big(content[$0..<$0 + 4]) }
      default: break
      }
      if Self.kept.contains(where: { kind.elementsEqual($0) }) { result += file[offset..<end] }
      offset = end
      if kind.elementsEqual("IEND".utf8) { break }
    }
    if codes != nil { result.removeSubrange(profile) }
    shown = result
    colour =
      codes ?? (hasSpace ? nil : ColourNumbers(gamma: gamma, chromaticities: chromaticities))
  }

  private static func big(_ bytes: ArraySlice<UInt8>) -> Int {
    bytes.reduce(0) { $0 << 8 | Int($1) }
  }

  /// Reads `cICP`: primaries, transfer, a matrix that RGB has not, and whether the range is full.
  ///
  /// The narrow range of videos is not supported.
  private static func codes(_ content: ArraySlice<UInt8>) -> ColourNumbers? {
    let bytes = Array(content)
    guard bytes.count == 4, bytes[2] == 0, bytes[3] == 1 else { return nil }
    return ColourNumbers(primaries: Int(bytes[0]), transfer: Int(bytes[1]))
  }
}
