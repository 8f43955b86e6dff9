internal import Encoding
internal import Glibc

/// A color of sRGB.
package struct Color: Sendable, Hashable {
  package let red: UInt8
  package let green: UInt8
  package let blue: UInt8

  package static let white = Color(255, 255, 255)
  package static let black = Color(0, 0, 0)

  package init(_ red: UInt8, _ green: UInt8, _ blue: UInt8) {
    (self.red, self.green, self.blue) = (red, green, blue)
  }

  /// Reads `#rrggbb` in either case; nil for any other form.
  package init?(_ text: String) {
    guard text.utf8.count == 7, text.utf8.first == UInt8(ascii: "#"),
      let bytes = [UInt8](hexadecimal: text.utf8.dropFirst())
    else { return nil }
    self.init(bytes[0], bytes[1], bytes[2])
  }

  /// The color as `#rrggbb` in lower case.
  package var text: String { "#" + String(hexadecimal: [red, green, blue]) }

  /// Returns the contrast ratio, from 1 to 21.
  ///
  /// - Source: WCAG 2.2, "contrast ratio".
  package func contrast(with other: Color) -> Double {
    let (first, second) = (luminance, other.luminance)
    return (max(first, second) + 0.05) / (min(first, second) + 0.05)
  }

  /// Returns the color with a part of another one, in percent.
  package func mixed(with other: Color, percent: Int) -> Color {
    func channel(_ path: KeyPath<Color, UInt8>) -> UInt8 {
      let sum = Int(self[keyPath: path]) * (100 - percent) + Int(other[keyPath: path]) * percent
      return UInt8(clamping: (sum + 50) / 100)
    }
    return Color(channel(\.red), channel(\.green), channel(\.blue))
  }

  /// The relative luminance, from 0 to 1.
  ///
  /// - Source: WCAG 2.2, "relative luminance".
  private var luminance: Double {
    0.2126 * Self.linear[Int(red)] + 0.7152 * Self.linear[Int(green)]
      + 0.0722 * Self.linear[Int(blue)]
  }

  /// The linear value of each value of a channel.
  private static let linear: [Double] = (0...255).map { value in
    let share = Double(value) / 255
    return share <= 0.04045 ? share / 12.92 : pow((share + 0.055) / 1.055, 2.4)
  }
}
