/// The stylesheet of an app's pages.
package struct Stylesheet: Sendable {
  package static let mediaType = "text/css; charset=utf-8"

  package let text: String
  /// The version of the text, for its URL.
  package let version: String

  package init(_ branding: Branding) {
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

      """ + StylesheetRules.all
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
