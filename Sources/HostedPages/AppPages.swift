package import Delivery
package import EventLoop
package import Localization
import Outbound
import Pages
package import Runtime
import Tenancy
import WireKit

/// The renderer and the languages of each app's pages, as they were last made.
@EventLoop package final class AppPages: DomainService {
  private var known: [AppID: Entry] = [:]

  private struct Entry {
    let version: Int
    let pages: PagesOfApp
  }

  private let languages: Languages

  package init(_ languages: Languages) { self.languages = languages }

  /// Returns the pages of an app; makes new ones if its settings have changed.
  func pages(of app: App) -> PagesOfApp {
    if let entry = known[app.id], entry.version == app.version { return entry.pages }
    let pages = PagesOfApp(app, languages)
    known[app.id] = Entry(version: app.version, pages: pages)
    return pages
  }
}

/// The renderer, the languages and the footer of one app's pages.
package struct PagesOfApp: Sendable {
  let renderer: PageRenderer
  package let languages: Languages
  private let settings: BrandingSettings

  init(_ app: App, _ languages: Languages) {
    settings = app.brandingSettings
    let branding = app.branding
    renderer = PageRenderer(branding: branding, assets: PageAssets(Stylesheet(branding)))
    self.languages = languages.with(app.texts.catalogs).with(default: settings.language)
  }

  /// The links below each page.
  var footer: [Link] {
    [
      settings.terms.map { Link(.message(.terms), to: $0) },
      settings.privacy.map { Link(.message(.privacy), to: $0) },
      settings.support.map { Link(.message(.help), to: $0) },
    ].compactMap(\.self)
  }
}

extension PageAssets {
  /// The paths of the files, with their versions.
  init(_ stylesheet: Stylesheet) {
    self.init(
      stylesheet: AssetRoutes.path(AssetRoutes.file(stylesheet).name),
      script: AssetRoutes.path(AssetRoutes.script.name)
    )
  }
}

extension AppPages: MailDesign {
  package func name(of app: App) -> String { app.branding.name }

  package func support(of app: App) -> String? { app.brandingSettings.supportContact }

  package func languages(of app: App) -> Languages { pages(of: app).languages }

  package func html(of mail: QueuedMail, for app: AppID, _ context: RequestContext)
    async throws(Failure) -> String
  {
    let app = try await context.apps.app(app)
    return pages(of: app).renderer.html(
      Mail(
        subject: mail.message.subject, text: mail.message.text, language: mail.language,
        secret: mail.secret, label: mail.label
      )
    )
  }
}
