import Encoding

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

/// The script of all pages, which work without it.
///
/// It adds a button to each password field that shows the password, and hides it before the form
/// is sent. So browsers do not store the password as ordinary text. It also ignores the second click
/// on a button for some seconds, since the token of a mailed link works once.
package enum PageScript {
  package static let mediaType = "text/javascript; charset=utf-8"

  /// The version of the text, for its URL.
  package static let version = AssetVersion.of(text)

  package static let text = """
    for (const form of document.forms) {
      let sent = false;
      form.addEventListener("submit", (event) => {
        if (sent) event.preventDefault();
        sent = true;
        setTimeout(() => { sent = false; }, 5000);
      });
      addEventListener("pageshow", () => { sent = false; });
    }
    for (const input of document.querySelectorAll("input[data-show]")) {
      const button = document.createElement("button");
      const status = document.createElement("span");
      const reveal = (shown, announced) => {
        input.type = shown ? "text" : "password";
        button.textContent = shown ? input.dataset.hide : input.dataset.show;
        if (announced) status.textContent = shown ? input.dataset.shown : input.dataset.hidden;
      };
      button.type = "button";
      button.className = "reveal";
      button.setAttribute("aria-controls", input.id);
      status.className = "hidden";
      status.setAttribute("role", "status");
      button.addEventListener("click", () => reveal(input.type === "password", true));
      input.form.addEventListener("submit", () => reveal(false, false));
      addEventListener("pageshow", () => reveal(false, false));
      reveal(false, false);
      input.closest(".control").append(button, status);
    }

    """
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
