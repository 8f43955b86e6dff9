package import Encoding
package import Localization

/// Renders pages and the HTML of mails of one app.
package struct PageRenderer: Sendable {
  package let branding: Branding
  package let stylesheet: Stylesheet
  let assets: PageAssets

  package init(branding: Branding, assets: PageAssets) {
    self.branding = branding
    self.assets = assets
    stylesheet = Stylesheet(branding)
  }

  /// Returns the document of a page.
  package func html(_ page: Page, _ context: PageContext) -> String {
    var view = PageView(catalog: context.catalog, app: branding.name)
    return view.page(page, context, self).html
  }

  /// Returns the header fields of a page.
  package func headers(of page: Page) -> PageHeaders { PageHeaders(page, branding) }

  /// Returns the text file with the recovery codes of a page.
  package func recoveryCodeFile(
    _ codes: [String], savedAt time: CalendarTime, in catalog: Catalog
  ) -> String {
    let app = branding.name.withoutControls
    let title = catalog.text(
      of: .pageTitle, ["page": .name(catalog.text(of: .recoveryCodes)), "app": .name(app)]
    )
    let saved = catalog.text(of: .savedOn, ["time": .time(time)])
    let lines = [title, saved, "", catalog.text(of: .recoveryCodeUse), ""] + codes
    // A soft hyphen only helps a narrow page.
    return lines.map { $0.replacing("\u{ad}", with: "") + "\n" }.joined()
  }

  /// Returns the HTML part of a mail.
  package func html(_ mail: Mail) -> String { MailView(mail, branding).document.html }
}
