internal import Encoding
package import Localization

/// The values that a request adds to its page.
package struct PageContext: Sendable {
  package let catalog: Catalog
  /// The same page in other languages.
  package let languages: [LanguageLink]
  /// The links below the page, such as terms, privacy and help.
  package let footer: [Link]
  /// The time in the footer of a printed page.
  package let printed: Text?

  package init(
    catalog: Catalog, languages: [LanguageLink] = [], footer: [Link] = [], printed: Text? = nil
  ) {
    self.catalog = catalog
    self.languages = languages
    self.footer = footer
    self.printed = printed
  }
}

/// The address of a page in another language.
package struct LanguageLink: Sendable {
  package let catalog: Catalog
  package let destination: Destination

  package init(_ catalog: Catalog, _ destination: LocalPath) {
    self.catalog = catalog
    self.destination = Destination(destination)
  }
}

/// A random value that permits one inline script of one response.
///
/// - Source: Content Security Policy Level 3 section 2.3.1.
package struct Nonce: Sendable, Hashable {
  /// Letters, digits, hyphens and underscores.
  package let text: String

  /// Encodes random bytes; nil for fewer than 16, which an attacker could guess.
  package init?(bytes: [UInt8]) {
    guard bytes.count >= 16 else { return nil }
    text = bytes.base64URL
  }
}
