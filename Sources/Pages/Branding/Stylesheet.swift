import Encoding

/// The stylesheet of pages: the colors of an app, the rules of every page, and those of a layout.
package struct Stylesheet: Sendable {
  package static let mediaType = "text/css; charset=utf-8"

  package let text: String
  /// The version of the text, for its URL.
  package let version: String

  /// Creates the stylesheet of an app's hosted pages.
  package init(_ branding: Branding) { self.init(branding, layout: Self.pages) }

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

      """ + Self.base + layout
    version = AssetVersion.of(text)
  }

  /// Creates the stylesheet of an app's hosted pages in one color scheme, for a preview.
  package init(_ branding: Branding, in scheme: ColorScheme) {
    let palette: Palette =
      scheme == .dark ? .dark(brand: branding.color) : .light(brand: branding.color)
    text = """
      :root {
        color-scheme: \(scheme.rawValue);
      \(Self.properties(palette))
        --radius: \(branding.radius.pixels)px;
      }

      """ + Self.base + Self.pages
    version = AssetVersion.of(text)
  }

  /// The rules of every page of this server, in any layout.
  private static let base = String(decoding: PackageResources.base_css, as: UTF8.self)
  /// The rules of the hosted pages.
  private static let pages = String(decoding: PackageResources.pages_css, as: UTF8.self)

  private static func properties(_ palette: Palette) -> String {
    let properties: [(String, Color)] = [
      ("bg", palette.background), ("surface", palette.surface), ("hover", palette.hover),
      ("field", palette.field), ("text", palette.text), ("muted", palette.muted),
      ("line", palette.line),
      ("control", palette.control), ("focus", palette.link), ("link", palette.link),
      ("accent", palette.accent), ("accent-hover", palette.accentHover),
      ("accent-border", palette.accentBorder), ("on-accent", palette.onAccent),
      ("danger", palette.danger), ("danger-fill", palette.dangerFill),
      ("danger-hover", palette.dangerHover),
      ("on-danger", palette.onDanger), ("danger-bg", palette.dangerBackground),
      ("success", palette.success), ("success-bg", palette.successBackground),
    ]
    return properties.map { "  --\($0.0): \($0.1.text);" }.joined(separator: "\n")
  }
}

/// The script of all pages, which work without it: `page.js`.
package enum PageScript {
  package static let mediaType = "text/javascript; charset=utf-8"

  /// The version of the text, for its URL.
  package static let version = AssetVersion.of(text)

  package static let text = String(decoding: PackageResources.page_js, as: UTF8.self)
}

/// The version of a file's content, for URLs that caches may keep forever.
package enum AssetVersion {
  /// Returns 16 hexadecimal digits.
  ///
  /// Two contents may share a version, but not by accident. It is no protection from attackers.
  /// - Source: draft-eastlake-fnv, FNV-1a with 64 bits.
  package static func of(_ text: String) -> String {
    var hash: UInt64 = 0xcbf2_9ce4_8422_2325
    for byte in text.utf8 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
    return String(hash, digits: 16, radix: 16)
  }
}
