import TestSupport
import Glibc
import Testing

@testable import Localization
@testable import Pages

/// Writes all pages to the folder in `DOSSIER_PAGES_FOLDER`, to view them in a browser.
@Suite struct GalleryTests {
  private static let folder = getenv("DOSSIER_PAGES_FOLDER").map { unsafe String(cString: $0) }

  @Test(.enabled(if: folder != nil, "DOSSIER_PAGES_FOLDER names no folder"))
  func `all pages are written to a folder`() throws {
    let folder = try #require(Self.folder)
    let logo = Branding.Logo(light: ImageSource(Fixtures.path("/logo.svg")))
    let looks = [
      ("plain", Branding(name: "Northwind")),
      (
        "brand",
        Branding(
          name: "Northwind", logo: logo, color: Color("#ffdd00"), radius: .init(clamping: 22)
        )
      ),
    ]
    try write(PageScript.text, to: "\(folder)/pages.js")
    for (look, branding) in looks {
      let renderer = PageRenderer(
        branding: branding,
        assets: PageAssets(
          stylesheet: Fixtures.path("/\(look).css"), script: Fixtures.path("/pages.js")
        )
      )
      try write(renderer.stylesheet.text, to: "\(folder)/\(look).css")
      try write(renderer.html(MailTests.code()), to: "\(folder)/\(look).mail-code.html")
      try write(renderer.html(MailTests.link()), to: "\(folder)/\(look).mail-link.html")
      try write(renderer.html(MailTests.notice), to: "\(folder)/\(look).mail-notice.html")
      for catalog in StructureTests.catalogs {
        for (name, page) in Fixtures().pages {
          let file = "\(folder)/\(look).\(catalog.language).\(name)"
          try write(renderer.html(page, Fixtures.context(catalog)), to: "\(file).html")
          try write(renderer.headers(of: page).contentSecurityPolicy, to: "\(file).csp")
        }
      }
    }
  }

  private func write(_ text: String, to path: String) throws {
    let file = try #require(fopen(path, "w"))
    defer { fclose(file) }
    #expect(fputs(text, file) >= 0)
  }
}
