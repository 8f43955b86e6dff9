import CHEIF
import CLCMS
import CVips
import Glibc
import PictureContract

/// The colour space of a file that describes it by numbers instead of an ICC profile.
///
/// - Source: ITU-T H.273, tables 2 and 3; PNG third edition, sections 11.3.2 and 13.
struct ColourNumbers: Equatable {
  let primaries: Primaries
  let transfer: Transfer

  /// Pixels of the space need no conversion.
  static let standard = ColourNumbers(primaries: .standard, transfer: .standard)
}

extension ColourNumbers {
  /// Reads code points of H.273.
  ///
  /// Returns nil for reserved ones.
  init?(primaries: Int, transfer: Int) {
    guard let primaries = Primaries(code: primaries), let transfer = Transfer(code: transfer) else {
      return nil
    }
    self.init(primaries: primaries, transfer: transfer)
  }

  /// Reads the code points of a HEIF or AVIF, which are in a box `colr` of the kind `nclx`.
  init?(heif file: UnsafeMutableRawBufferPointer) {
    var primaries: CInt = 0
    var transfer: CInt = 0
    guard unsafe CHEIF_code_points(file.baseAddress, file.count, &primaries, &transfer) == 0 else {
      return nil
    }
    self.init(primaries: Int(primaries), transfer: Int(transfer))
  }

  /// Reads the chunks `gAMA` and `cHRM` of a PNG, of which one may be missing.
  ///
  /// Returns nil without any, or if no display has such a gamma. The standard gives a gamma of 0.45455
  /// for sRGB, and ImageMagick writes no more than that.
  init?(gamma: Int?, chromaticities: [Int]?) {
    guard gamma != nil || chromaticities != nil else { return nil }
    primaries =
      chromaticities.flatMap { Primaries(chunk: $0.map { Double($0) / 100_000 }) } ?? .standard
    switch gamma {
    case nil: transfer = .standard
    case 45_455? where primaries == .standard: transfer = .standard
    case let gamma? where 10_000...1_000_000 ~= gamma: transfer = .power(100_000 / Double(gamma))
    default: return nil
    }
  }

  /// Makes an ICC profile of the space.
  ///
  /// - Parameter colourCount: the bands without alpha.
  /// - Returns: nil if the primaries span no space, or if the image is neither grey nor RGB.
  func profile(colourCount: Int) -> [UInt8]? {
    let entries = (0..<4_096).map { entry in
      UInt16((min(max(transfer.light(Double(entry) / 4_095), 0), 1) * 65_535).rounded())
    }
    let count = UInt32(entries.count)
    guard let curve = unsafe cmsBuildTabulatedToneCurve16(nil, count, entries) else { return nil }
    defer { unsafe cmsFreeToneCurve(curve) }
    let profile: cmsHPROFILE?
    switch colourCount {
    case 1: unsafe profile = unsafe cmsCreateGrayProfile(cmsD50_xyY(), curve)
    case 3:
      var white = primaries.white.xyY
      var colours = cmsCIExyYTRIPLE(
        Red: primaries.red.xyY, Green: primaries.green.xyY, Blue: primaries.blue.xyY
      )
      var curves: [OpaquePointer?] = unsafe [curve, curve, curve]
      unsafe profile = unsafe cmsCreateRGBProfile(&white, &colours, &curves)
    default: return nil
    }
    guard let profile = unsafe profile else { return nil }
    defer { unsafe cmsCloseProfile(profile) }
    var length: UInt32 = 0
    guard unsafe cmsSaveProfileToMem(profile, nil, &length) != 0 else { return nil }
    var bytes = [UInt8](repeating: 0, count: Int(length))
    guard unsafe cmsSaveProfileToMem(profile, &bytes, &length) != 0 else { return nil }
    return bytes
  }
}

/// The chromaticities of white and of the three colours.
struct Primaries: Equatable {
  struct Point: Equatable {
    let x: Double
    let y: Double

    var xyY: cmsCIExyY { cmsCIExyY(x: x, y: y, Y: 1) }
  }

  let white: Point
  let red: Point
  let green: Point
  let blue: Point

  static let standard = Primaries([0.3127, 0.3290, 0.64, 0.33, 0.30, 0.60, 0.15, 0.06])

  private init(_ numbers: [Double]) {
    let points = stride(from: 0, to: 8, by: 2).map { Point(x: numbers[$0], y: numbers[$0 + 1]) }
    (white, red, green, blue) = (points[0], points[1], points[2], points[3])
  }

  /// Reads the eight numbers of a chunk `cHRM`.
  ///
  /// Returns nil if they are no colours.
  init?(chunk numbers: [Double]) {
    guard numbers.count == 8 else { return nil }
    self.init(numbers)
    for point in [white, red, green, blue] {
      guard point.y > 0, point.x + point.y <= 1 else { return nil }
    }
  }

  fileprivate init?(code: Int) {
    switch code {
    // Unspecified.
    case 1, 2: self = .standard
    case 4: self.init([0.310, 0.316, 0.67, 0.33, 0.21, 0.71, 0.14, 0.08])
    case 5: self.init([0.3127, 0.3290, 0.64, 0.33, 0.29, 0.60, 0.15, 0.06])
    case 6, 7: self.init([0.3127, 0.3290, 0.630, 0.340, 0.310, 0.595, 0.155, 0.070])
    case 8: self.init([0.310, 0.316, 0.681, 0.319, 0.243, 0.692, 0.145, 0.049])
    case 9: self.init([0.3127, 0.3290, 0.708, 0.292, 0.170, 0.797, 0.131, 0.046])
    case 10: self.init([1.0 / 3, 1.0 / 3, 1, 0, 0, 1, 0, 0])
    case 11: self.init([0.314, 0.351, 0.680, 0.320, 0.265, 0.690, 0.150, 0.060])
    case 12: self.init([0.3127, 0.3290, 0.680, 0.320, 0.265, 0.690, 0.150, 0.060])
    case 22: self.init([0.3127, 0.3290, 0.630, 0.340, 0.295, 0.605, 0.155, 0.077])
    default: return nil
    }
  }
}

/// The relation of a pixel's values to light.
enum Transfer: Equatable {
  case standard
  case power(Double)
  /// The camera's curve of BT.709, BT.601 and BT.2020.
  case video
  case smpte240
  case logarithm(decades: Double)
  case cinema
  case perceptualQuantizer
  case hybridLogGamma

  fileprivate init?(code: Int) {
    switch code {
    // Unspecified.
    case 2, 13: self = .standard
    case 1, 6, 11, 12, 14, 15: self = .video
    case 4: self = .power(2.2)
    case 5: self = .power(2.8)
    case 7: self = .smpte240
    case 8: self = .power(1)
    case 9: self = .logarithm(decades: 2)
    case 10: self = .logarithm(decades: 2.5)
    case 16: self = .perceptualQuantizer
    case 17: self = .cinema
    case 18: self = .hybridLogGamma
    default: return nil
    }
  }

  /// The byte in sRGB of each value of 16 bits.
  var standardBytes: [UInt8] {
    (0...65_535).map { value in
      let light = min(max(light(Double(value) / 65_535), 0), 1)
      let encoded = light <= 0.0031308 ? light * 12.92 : 1.055 * pow(light, 1 / 2.4) - 0.055
      return UInt8((encoded * 255).rounded())
    }
  }

  /// Returns the light of a value; both are 0 to 1.
  ///
  /// White of a picture with a high dynamic range is 203 cd/m². Brighter light is above 1.
  ///
  /// - Source: BT.2408, section 2.2, for white; BT.2100, table 5, for a display of 1,000 cd/m².
  func light(_ value: Double) -> Double {
    switch self {
    case .standard:
      return value <= 0.04045 ? value / 12.92 : pow((value + 0.055) / 1.055, 2.4)
    case .power(let exponent): return pow(value, exponent)
    case .video: return value < 0.081 ? value / 4.5 : pow((value + 0.099) / 1.099, 1 / 0.45)
    case .smpte240:
      return value < 0.0913 ? value / 4 : pow((value + 0.1115) / 1.1115, 1 / 0.45)
    case .logarithm(let decades): return value > 0 ? pow(10, (value - 1) * decades) : 0
    case .cinema: return 52.37 / 48 * pow(value, 2.6)
    case .perceptualQuantizer:
      let root = pow(value, 32.0 / 2_523)
      let share = max(root - 107.0 / 128, 0) / (2_413.0 / 128 - 2_392.0 / 128 * root)
      return pow(share, 8_192.0 / 1_305) * 10_000 / 203
    case .hybridLogGamma:
      let scene =
        value <= 0.5
        ? value * value / 3 : (exp((value - 0.55991073) / 0.17883277) + 0.28466892) / 12
      return pow(scene, 1.2) * 1_000 / 203
    }
  }
}

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
