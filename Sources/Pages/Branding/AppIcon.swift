internal import Encoding
import Localization

/// The icon of an app without one: the first letter of its name on its color.
package struct AppIcon {
  package static let mediaType = "image/svg+xml"

  /// The icon as SVG.
  package let svg: String

  package init(_ branding: Branding) {
    let palette = Palette.light(brand: branding.color)
    let letter = branding.name.withoutControls.first.map { String($0).uppercased() } ?? ""
    let icon: Markup = """
      <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32">\
      <rect width="32" height="32" rx="7" fill="\(palette.accent.text)"/>\
      <text x="16" y="22" text-anchor="middle" font-family="system-ui, sans-serif" \
      font-size="18" font-weight="600" fill="\(palette.onAccent.text)">\(letter)</text></svg>

      """
    svg = icon.html
  }
}
