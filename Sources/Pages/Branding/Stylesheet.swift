/// The stylesheet of pages: the colors of an app, the rules of every page, and those of a layout.
package struct Stylesheet: Sendable {
  package static let mediaType = "text/css; charset=utf-8"

  package let text: String
  /// The version of the text, for its URL.
  package let version: String

  /// Creates the stylesheet of an app's hosted pages.
  package init(_ branding: Branding) { self.init(branding, layout: StylesheetRules.hosted) }

  /// Creates the stylesheet of pages with a layout of their own.
  package init(_ branding: Branding, layout: String) {
    text = """
      :root {
        color-scheme: light dark;
      \(Self.properties(.light(brand: branding.color)))
        --radius: \(branding.radius.pixels)px;
      }
      @media screen and (prefers-color-scheme: dark) {
        :root {
      \(Self.properties(.dark(brand: branding.color)))
        }
      }

      """ + StylesheetRules.base + layout
    version = AssetVersion.of(text)
  }

  private static func properties(_ palette: Palette) -> String {
    let properties: [(String, Color)] = [
      ("bg", palette.background), ("surface", palette.surface), ("hover", palette.hover),
      ("text", palette.text), ("muted", palette.muted), ("line", palette.line),
      ("control", palette.control), ("focus", palette.text), ("link", palette.link),
      ("accent", palette.accent), ("accent-hover", palette.accentHover),
      ("accent-border", palette.accentBorder), ("on-accent", palette.onAccent),
      ("danger", palette.danger), ("danger-hover", palette.dangerHover),
      ("on-danger", palette.onDanger), ("danger-bg", palette.dangerBackground),
      ("success", palette.success), ("success-bg", palette.successBackground),
    ]
    return properties.map { "  --\($0.0): \($0.1.text);" }.joined(separator: "\n")
  }
}
