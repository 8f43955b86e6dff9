/// The colors of one scheme, light or dark.
package struct Palette: Sendable {
  package let background: Color
  package let surface: Color
  package let hover: Color
  package let text: Color
  package let muted: Color
  package let line: Color
  package let control: Color
  package let danger: Color
  package let dangerHover: Color
  package let onDanger: Color
  package let dangerBackground: Color
  package let success: Color
  package let successBackground: Color
  package private(set) var link: Color
  /// The fill of a primary button.
  package private(set) var accent: Color
  package private(set) var accentHover: Color
  package private(set) var accentBorder: Color
  package private(set) var onAccent: Color

  /// The grounds on which a link may stand.
  var grounds: [Color] { [background, surface, hover, dangerBackground, successBackground] }

  /// Returns the colors of the light scheme.
  ///
  /// - `brand`: the color of the app; nil for the default blue.
  package static func light(brand: Color? = nil) -> Palette {
    brand.map { defaultLight.branded($0, towards: .black) } ?? defaultLight
  }

  /// Returns the colors of the dark scheme.
  ///
  /// - `brand`: the color of the app; nil for the default blue.
  package static func dark(brand: Color? = nil) -> Palette {
    brand.map { defaultDark.branded($0, towards: .white) } ?? defaultDark
  }

  private static let defaultLight = Palette(
    background: Color(0xf3, 0xf4, 0xf6),
    surface: .white,
    hover: Color(0xec, 0xee, 0xf1),
    text: Color(0x1a, 0x1d, 0x23),
    muted: Color(0x56, 0x5d, 0x68),
    line: Color(0xd7, 0xdb, 0xe0),
    control: Color(0x75, 0x7d, 0x89),
    danger: Color(0xb3, 0x26, 0x1e),
    dangerHover: Color(0x8f, 0x1e, 0x18),
    onDanger: .white,
    dangerBackground: Color(0xfd, 0xf0, 0xef),
    success: Color(0x1a, 0x6b, 0x3c),
    successBackground: Color(0xee, 0xf7, 0xf1),
    link: Color(0x1f, 0x57, 0xc3),
    accent: Color(0x1f, 0x57, 0xc3),
    accentHover: Color(0x19, 0x46, 0x9c),
    accentBorder: Color(0x1f, 0x57, 0xc3),
    onAccent: .white
  )

  private static let defaultDark = Palette(
    background: Color(0x10, 0x13, 0x17),
    surface: Color(0x19, 0x1d, 0x23),
    hover: Color(0x24, 0x2a, 0x32),
    text: Color(0xec, 0xee, 0xf2),
    muted: Color(0xab, 0xb3, 0xbf),
    line: Color(0x34, 0x3b, 0x45),
    control: Color(0x80, 0x8a, 0x98),
    danger: Color(0xff, 0x9d, 0x94),
    dangerHover: Color(0xff, 0xb8, 0xb1),
    onDanger: Color(0x0d, 0x14, 0x20),
    dangerBackground: Color(0x33, 0x19, 0x1a),
    success: Color(0x7f, 0xd3, 0xa1),
    successBackground: Color(0x14, 0x28, 0x1d),
    link: Color(0x8d, 0xb3, 0xff),
    accent: Color(0x8d, 0xb3, 0xff),
    accentHover: Color(0xaa, 0xc7, 0xff),
    accentBorder: Color(0x8d, 0xb3, 0xff),
    onAccent: Color(0x0d, 0x14, 0x20)
  )

  // MARK: Derivation

  /// Returns the palette with the color of an app, which links mix with `contrast`.
  private func branded(_ fill: Color, towards contrast: Color) -> Palette {
    var palette = self
    let hasEdge = [background, surface].allSatisfy { fill.contrast(with: $0) >= 3 }
    palette.link = Self.link(from: fill, towards: contrast, on: grounds)
    palette.accent = fill
    palette.onAccent = Self.label(on: fill)
    palette.accentHover = Self.hover(of: fill, label: palette.onAccent)
    palette.accentBorder = hasEdge ? fill : palette.link
    return palette
  }

  /// Returns white or black, the one with more contrast: at least 4.58.
  private static func label(on fill: Color) -> Color {
    fill.contrast(with: .white) >= fill.contrast(with: .black) ? .white : .black
  }

  /// Returns the first mixture that has a contrast of 4.5 with each ground.
  private static func link(from fill: Color, towards other: Color, on grounds: [Color]) -> Color {
    let mixtures = stride(from: 0, through: 100, by: 2).lazy.map {
      fill.mixed(with: other, percent: $0)
    }
    return mixtures.first { color in grounds.allSatisfy { color.contrast(with: $0) >= 4.5 } }
      ?? other
  }

  /// Returns a fill that differs visibly, if possible with more contrast to the label.
  private static func hover(of fill: Color, label: Color) -> Color {
    let opposite = label == .white ? Color.black : .white
    let mixtures = [opposite, label].lazy.flatMap { other in
      stride(from: 12, through: 40, by: 2).lazy.map { fill.mixed(with: other, percent: $0) }
    }
    return mixtures.first { $0.contrast(with: fill) >= 1.2 } ?? fill
  }
}
