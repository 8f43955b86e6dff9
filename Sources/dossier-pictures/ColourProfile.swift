import CVips
import PictureContract

/// The use of an ICC profile, by its header.
///
/// The library decides by the number of bands, so it would take a profile of grey for RGB, and one
/// of CMYK for RGB with alpha.
struct ColourProfile {
  /// The bands that the profile describes: 1 for grey, 3 for RGB, 4 for CMYK.
  let colourCount: Int
  /// The intent to convert with.
  ///
  /// Browsers prefer the perceptual one. Profiles of scanners and printers may lack tables for an
  /// intent, and the library would then ignore them.
  let intent: VipsIntent

  /// Reads the header and the names of the tags.
  ///
  /// Returns nil for a space that no accepted format has. The library checks the rest.
  ///
  /// - Source: ICC.1:2022, sections 7.2, 7.3 and 9.2.
  init?(_ profile: [UInt8]) {
    guard profile.count >= Self.tableStart else { return nil }
    switch String(decoding: profile[16..<20], as: UTF8.self) {
    case "GRAY": colourCount = 1
    case "RGB ": colourCount = 3
    case "CMYK": colourCount = 4
    default: return nil
    }
    let entries = stride(
      from: Self.tableStart, through: profile.count - Self.entryLength, by: Self.entryLength
    )
    let tags = entries.prefix(Self.mostTags).map { profile[$0..<$0 + 4] }
    func has(_ tag: String) -> Bool { tags.contains { $0.elementsEqual(tag.utf8) } }
    intent =
      if !has("A2B0"), has("A2B1") {
        VIPS_INTENT_RELATIVE
      } else if !has("A2B0"), has("A2B2") {
        VIPS_INTENT_SATURATION
      } else {
        VIPS_INTENT_PERCEPTUAL
      }
  }

  private static let tableStart = 132
  private static let entryLength = 12
  /// The most that the colour library reads.
  private static let mostTags = 100

  /// Returns the image in sRGB, by its profile if that fits.
  ///
  /// Pixels of grey or RGB without a usable profile are those of sRGB.
  static func apply(to image: consuming Image) throws(PictureError) -> Image {
    let start = image.profile(upTo: tableStart + mostTags * entryLength)
    let count = image.isCMYK ? 4 : image.colourCount
    guard let profile = start.flatMap(ColourProfile.init), profile.colourCount == count else {
      return image.isCMYK ? try image.converted(from: "cmyk", VIPS_INTENT_PERCEPTUAL) : image
    }
    do throws(PictureError) {
      return try image.converted(profile.intent)
    } catch {
      // A broken profile; for RGB and CMYK, the library takes its own instead.
      guard error.status != .tooMuchMemory else { throw error }
      vips_error_clear()
      return image
    }
  }
}
