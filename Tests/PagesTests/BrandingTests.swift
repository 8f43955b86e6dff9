import TestSupport
import Testing

@testable import Localization
@testable import Pages

@Suite struct BrandingTests {
  /// A grid over all colors, with the ends of each channel, and the colors of the specification.
  static let colors: [Color] = {
    let steps = stride(from: 0, through: 255, by: 15).map(UInt8.init)
    let grid = steps.flatMap { red in
      steps.flatMap { green in steps.map { Color(red, green, $0) } }
    }
    let greys = (0...255).map { Color(UInt8($0), UInt8($0), UInt8($0)) }
    return grid + greys + ["#ffdd00", "#1f57c3", "#777777"].compactMap(Color.init)
  }()

  @Test func `every color gives readable labels, links and edges`() {
    for color in Self.colors {
      for palette in [Palette.light(brand: color), .dark(brand: color)] {
        #expect(palette.accent == color)
        #expect(palette.onAccent.contrast(with: color) >= 4.58, "\(color.text)")
        #expect(
          palette.grounds.allSatisfy { palette.link.contrast(with: $0) >= 4.5 }, "\(color.text)"
        )
        let edges = [palette.background, palette.surface].map(palette.accentBorder.contrast)
        #expect(edges.allSatisfy { $0 >= 3 }, "\(color.text)")
        #expect(palette.accentHover.contrast(with: color) >= 1.2, "\(color.text)")
        #expect(palette.onAccent.contrast(with: palette.accentHover) >= 5.4, "\(color.text)")
      }
    }
  }

  @Test func `a preview names the contrast of each derived color`() throws {
    let yellow = try #require(Color("#ffdd00"))
    let found = Palette.light(brand: yellow).contrasts
    #expect(found.filter(\.isEnough).count == 4)
    #expect(found.map { $0.color.text } == ["#000000", "#000000", "#7a6a00", "#7a6a00"])
    #expect(found.map { Int($0.ratio * 100) }[0] == 1_559)
    for color in Self.colors {
      for palette in [Palette.light(brand: color), .dark(brand: color)] {
        #expect(palette.contrasts.filter(\.isEnough).count == 4, "\(color.text)")
      }
    }
  }

  @Test func `the stylesheet of a preview has one scheme`() {
    let branding = Branding(name: "Northwind", color: Color("#ffdd00"))
    for scheme in ColorScheme.allCases {
      let text = Stylesheet(branding, in: scheme).text
      #expect(text.contains("color-scheme: \(scheme.rawValue);"))
      #expect(!text.contains("prefers-color-scheme"))
      let palette: Palette =
        scheme == .dark ? .dark(brand: branding.color) : .light(brand: branding.color)
      #expect(text.contains("--bg: \(palette.background.text);"))
      #expect(text.contains("--field: \(palette.field.text);"))
    }
  }

  @Test(arguments: [nil, "#ffdd00", "#000000", "#ffffff", "#1f57c3"])
  func `texts and edges have their contrast in both schemes`(brand: String?) {
    let color = brand.flatMap(Color.init)
    for palette in [Palette.light(brand: color), .dark(brand: color)] {
      let pages = [palette.background, palette.surface]
      for ground in palette.grounds {
        #expect(palette.text.contrast(with: ground) >= 4.5)
      }
      for ground in pages {
        for color in [palette.muted, palette.link, palette.danger, palette.success] {
          #expect(color.contrast(with: ground) >= 4.5)
        }
        for color in [palette.control, palette.accentBorder] {
          #expect(color.contrast(with: ground) >= 3)
        }
      }
      #expect(palette.muted.contrast(with: palette.hover) >= 4.5)
      #expect(palette.success.contrast(with: palette.successBackground) >= 4.5)
      #expect(palette.danger.contrast(with: palette.dangerBackground) >= 4.5)
      #expect(palette.onDanger.contrast(with: palette.dangerFill) >= 4.5)
      #expect(palette.onDanger.contrast(with: palette.dangerHover) >= 4.5)
      #expect(palette.dangerFill.contrast(with: palette.surface) >= 3)
      #expect(palette.onAccent.contrast(with: palette.accent) >= 4.5)
    }
  }

  @Test func `yellow has a black label and an olive link`() throws {
    let yellow = try #require(Color("#ffdd00"))
    let palette = Palette.light(brand: yellow)
    #expect(palette.onAccent == .black)
    #expect(abs(palette.onAccent.contrast(with: yellow) - 15.59) < 0.01)
    #expect(palette.link.text == "#7a6a00")
  }

  @Test(arguments: ["", "#fff", "1f57c3", "#1f57c", "#1f57c3a", "#1f57cg", "#ｆf57c3", "red"])
  func `other forms of colors are refused`(text: String) {
    #expect(Color(text) == nil)
  }

  @Test func `the version changes with the look, and only then`() throws {
    let plain = Stylesheet(Branding(name: "A"))
    #expect(plain.version == Stylesheet(Branding(name: "B")).version)
    #expect(plain.version.count == 16)
    let color = try #require(Color("#ffdd00"))
    #expect(plain.version != Stylesheet(Branding(name: "A", color: color)).version)
    let round = Branding(name: "A", radius: .init(clamping: 99))
    #expect(Stylesheet(round).text.contains("--radius: 22px;"))
    #expect(AssetVersion.of("") == "cbf29ce484222325" && AssetVersion.of("a") == "af63dc4c8601ec8c")
  }

  @Test func `the stylesheet loads nothing`() {
    let text = Stylesheet(Fixtures.branding).text
    #expect(!text.contains("url(") && !text.contains("@import"))
    #expect(text.count { $0 == "{" } == text.count { $0 == "}" })
  }
}

@Suite struct PageHeadersTests {
  private func policy(_ page: Page, _ branding: Branding = Fixtures.branding) -> String {
    Fixtures.renderer(branding).headers(of: page).contentSecurityPolicy
  }

  @Test func `a page has the strict policy`() {
    let headers = Fixtures.renderer.headers(of: .unknownApplication())
    #expect(
      headers.contentSecurityPolicy
        == "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; "
        + "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    )
    let fields = headers.fields.map { "\($0.name): \($0.value)" }
    #expect(fields.contains("Cache-Control: no-store"))
    #expect(fields.contains("Referrer-Policy: same-origin"))
    #expect(fields.contains("Content-Type: text/html; charset=utf-8"))
  }

  @Test func `a page that submits itself may submit to any client`() {
    let page = Page.formPost(to: Fixtures.callback, parameters: [], nonce: Fixtures.nonce)
    #expect(
      policy(page)
        == "default-src 'none'; style-src 'self'; script-src 'self' 'nonce-\(Fixtures.nonce.text)'; "
        + "img-src 'self'; base-uri 'none'; frame-ancestors 'none'"
    )
  }

  @Test func `only the client may embed the page with its message`() {
    let page = Page.webMessage(to: Fixtures.clientOrigin, response: [], nonce: Fixtures.nonce)
    #expect(
      policy(page).hasSuffix(
        "form-action 'none'; base-uri 'none'; frame-ancestors https://client.example"
      )
    )
  }

  @Test func `images of other servers are allowed by their origins`() throws {
    let light = try #require(ImageSource(url: "https://cdn.example/light.svg"))
    let dark = try #require(ImageSource(url: "https://cdn.example/dark.svg"))
    let face = try #require(ImageSource(url: "https://pictures.example:8443/1.webp"))
    let branding = Branding(name: "A", logo: .init(light: light, dark: dark))
    let page = Page.signOut(
      Fixtures().target(), person: Person(picture: face), stay: Fixtures().target()
    )
    #expect(
      policy(page, branding).contains(
        "img-src 'self' https://cdn.example https://pictures.example:8443;"
      )
    )
    let html = Fixtures.renderer(branding).html(page, Fixtures.context(.english))
    #expect(html.contains("<source srcset=\"https://cdn.example/dark.svg\""))
  }

  @Test func `no value adds a field or a directive`() {
    for (_, page) in Fixtures(hostile: "x; script-src *\r\nSet-Cookie: a=b").pages {
      let fields = Fixtures.renderer.headers(of: page).fields
      #expect(fields.allSatisfy { $0.value.utf8.allSatisfy { 0x20...0x7e ~= $0 } })
      #expect(!policy(page).contains("script-src *"))
    }
  }
}
