/// A color scheme of browsers.
package enum ColorScheme: String, CaseIterable, Sendable { case light, dark }

/// The colors of one scheme, light or dark.
package struct Palette: Sendable {
  package let background: Color
  package let surface: Color
  package let hover: Color
  /// The ground of fields.
  package let field: Color
  package let text: Color
  package let muted: Color
  package let line: Color
  package let control: Color
  package let danger: Color
  /// The fill of a button that deletes.
  package let dangerFill: Color
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
    background: Color(0xf6, 0xf7, 0xf9),
    surface: .white,
    hover: Color(0xee, 0xf0, 0xf3),
    field: .white,
    text: Color(0x14, 0x17, 0x1c),
    muted: Color(0x55, 0x5c, 0x67),
    line: Color(0xe1, 0xe4, 0xe9),
    control: Color(0x82, 0x89, 0x95),
    danger: Color(0xb3, 0x26, 0x1e),
    dangerFill: Color(0xb3, 0x26, 0x1e),
    dangerHover: Color(0x8f, 0x1e, 0x18),
    onDanger: .white,
    dangerBackground: Color(0xfd, 0xf0, 0xef),
    success: Color(0x17, 0x66, 0x39),
    successBackground: Color(0xec, 0xf7, 0xf0),
    link: Color(0x1f, 0x57, 0xc3),
    accent: Color(0x1f, 0x57, 0xc3),
    accentHover: Color(0x19, 0x46, 0x9c),
    accentBorder: Color(0x1f, 0x57, 0xc3),
    onAccent: .white
  )

  private static let defaultDark = Palette(
    background: Color(0x0d, 0x10, 0x14),
    surface: Color(0x15, 0x19, 0x1f),
    hover: Color(0x20, 0x26, 0x2e),
    field: Color(0x0d, 0x10, 0x14),
    text: Color(0xee, 0xf0, 0xf4),
    muted: Color(0xa5, 0xad, 0xb9),
    line: Color(0x2a, 0x31, 0x3b),
    control: Color(0x78, 0x82, 0x8f),
    danger: Color(0xff, 0x9d, 0x94),
    dangerFill: Color(0xd9, 0x2d, 0x20),
    dangerHover: Color(0xb4, 0x23, 0x18),
    onDanger: .white,
    dangerBackground: Color(0x33, 0x1a, 0x1b),
    success: Color(0x7f, 0xd3, 0xa1),
    successBackground: Color(0x12, 0x28, 0x1c),
    link: Color(0x8f, 0xb4, 0xff),
    accent: Color(0x3f, 0x6f, 0xe4),
    accentHover: Color(0x2f, 0x5b, 0xc8),
    accentBorder: Color(0x3f, 0x6f, 0xe4),
    onAccent: .white
  )

  /// The contrast of a color that is derived from that of the app.
  package struct Contrast: Sendable {
    package let name: String
    package let color: Color
    /// The lowest contrast with the colors beside it.
    package let ratio: Double
    /// The contrast that it needs.
    package let least: Double

    package var isEnough: Bool { ratio >= least }

    fileprivate init(_ name: String, _ color: Color, on grounds: [Color], least: Double) {
      (self.name, self.color, self.least) = (name, color, least)
      ratio = grounds.map { color.contrast(with: $0) }.min() ?? 1
    }
  }

  /// The contrasts of all colors that are derived from that of the app.
  ///
  /// - Source: WCAG 2.2, sections 1.4.3 and 1.4.11.
  package var contrasts: [Contrast] {
    [
      Contrast("Label of a button", onAccent, on: [accent], least: 4.5),
      Contrast("Label under the pointer", onAccent, on: [accentHover], least: 4.5),
      Contrast("Edge of a button", accentBorder, on: [background, surface], least: 3),
      Contrast("Link", link, on: grounds, least: 4.5),
    ]
  }

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
