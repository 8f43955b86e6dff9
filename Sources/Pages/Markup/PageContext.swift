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
