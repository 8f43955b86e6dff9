import Encoding
import JSON
import Localization
package import Pages
package import Runtime
package import Records

/// The settings of the look of an app's pages, and of the links below them.
package struct BrandingSettings: RecordPart {
  private let displayName: String
  private let logo: String
  private let darkLogo: String
  private let color: String
  private let cornerRadius: Int
  private let favicon: String
  /// The page of the app to which `/` leads; nil for a page of this server.
  package let home: Destination?
  package let support: Destination?
  package let terms: Destination?
  package let privacy: Destination?
  /// The language of a browser that asks for none of the languages of the pages.
  let language: String

  package init(_ read: inout RecordReader) {
    displayName = read.text(
      "display_name",
      .text(0...100, "control", "This setting must be one line without control characters.") {
        text in
        !text.hasControlCharacters
      },
      "",
      "the name of the app on its pages; if it is empty, the name of the app, or the host name of the "
        + "app default"
    )
    logo = read.url("logo_url", "the logo on the pages, shown at most 160 by 40 pixels large")
    darkLogo = read.url("dark_logo_url", "the logo in the dark color scheme")
    favicon = read.url(
      "favicon_url", "the icon of the pages in the tabs of browsers; if it is empty, the logo"
    )
    home = Destination(
      url: read.url(
        "home_url",
        "the page of the app to which / leads browsers; if it is empty, a page with the sign-in"
      )
    )
    color = read.text(
      "brand_color",
      .text(
        0...7, "color", "This setting must be a color such as #1f57c3, or empty.",
        impliesLength: true
      ) { $0.isEmpty || Color($0) != nil },
      "",
      "the color of the main buttons, such as #1f57c3; Dossier derives the colors of texts and links "
        + "with enough contrast from it"
    )
    cornerRadius = read.number(
      "corner_radius", 0...22, Branding.CornerRadius.standard.pixels,
      "the radius of the corners of buttons and fields, in pixels"
    )
    support = Self.destination(
      read.text(
        "support_url",
        .text(
          0...1_000, "url", "This setting must be an https URL, an email address, or empty."
        ) { $0.isEmpty || Self.destination($0) != nil },
        "",
        "the page or the email address that helps users, linked below the pages"
      )
    )
    terms = Destination(url: read.url("terms_url", "the terms of the app, linked below the pages"))
    privacy = Destination(
      url: read.url("privacy_url", "the privacy policy of the app, linked below the pages")
    )
    language = read.text(
      "default_language",
      .text(2...35, "language", "This setting must be a language tag such as de.") {
        Languages.isTag($0)
      },
      Languages.english,
      "the language of pages and emails for users who prefer none of its languages; English if it "
        + "has no such language"
    )
  }

  /// The page or the email address that helps users, as an email shows it; nil for none.
  var supportContact: String? {
    support?.shown
  }

  /// Returns the look of the pages of an app.
  ///
  /// - Parameter name: the name of the app, if the settings have none.
  /// - Returns: the look.
  func branding(named name: String) -> Branding {
    Branding(
      name: displayName.isEmpty ? name : displayName,
      logo: ImageSource(url: logo).map {
        Branding.Logo(light: $0, dark: ImageSource(url: darkLogo))
      },
      icon: ImageSource(url: favicon),
      color: Color(color),
      radius: Branding.CornerRadius(clamping: cornerRadius)
    )
  }

  private static func destination(_ text: String) -> Destination? {
    Destination(url: text) ?? Destination(mailTo: text)
  }
}

extension RecordReader {
  /// Reads the URL of a page or an image.
  fileprivate mutating func url(_ name: String, _ meaning: String) -> String {
    text(
      name,
      .text(
        0...1_000, "url",
        "This setting must be an https URL, or empty. Only this machine may use http."
      ) { $0.isEmpty || Destination(url: $0) != nil },
      "",
      meaning
    )
  }
}

extension App {
  package var brandingSettings: BrandingSettings { settings[BrandingSettings.self] }
}
