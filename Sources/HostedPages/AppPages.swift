package import Delivery
package import EventLoop
package import Localization
import Encoding
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
  /// The host name of the deployment; nil for none that people know.
  private let host: String?

  /// Creates the pages of all apps.
  ///
  /// - Parameters:
  ///   - languages: the texts of all languages.
  ///   - issuer: the deployment's URL.
  package init(_ languages: Languages, issuer: String) {
    self.languages = languages
    host = Origin(url: issuer).flatMap { Self.isName($0.host) ? $0.host : nil }
  }

  /// Returns whether a host has a name: one with a dot, which is no IP address.
  private static func isName(_ host: String) -> Bool {
    host.utf8.contains(UInt8(ascii: ".")) && host.utf8.last?.isDigit == false
      && host.utf8.first != UInt8(ascii: "[")
  }

  /// Returns the name of an app that has no `display_name`.
  ///
  /// The first app is named `default`, which says nothing to its users.
  private func usualName(of app: App) -> String {
    guard app.name.isEmpty || app.name.utf8.elementsEqual("default".utf8) else { return app.name }
    return app.hosts.first(where: Self.isName) ?? host ?? "Dossier"
  }

  /// Returns the pages of an app whose settings may not be stored yet.
  func preview(of app: App) -> PagesOfApp { PagesOfApp(app, named: usualName(of: app), languages) }

  /// Returns the pages of an app; makes new ones if its settings have changed.
  func pages(of app: App) -> PagesOfApp {
    if let entry = known[app.id], entry.version == app.version { return entry.pages }
    let pages = PagesOfApp(app, named: usualName(of: app), languages)
    known[app.id] = Entry(version: app.version, pages: pages)
    return pages
  }
}

/// The renderer, the languages and the footer of one app's pages.
package struct PagesOfApp: Sendable {
  let renderer: PageRenderer
  package let languages: Languages
  private let settings: BrandingSettings

  init(_ app: App, named name: String, _ languages: Languages) {
    settings = app.brandingSettings
    let branding = settings.branding(named: name)
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
  package func name(of app: App) -> String { pages(of: app).renderer.branding.name }

  package func support(of app: App) -> String? { app.brandingSettings.supportContact }

  package func languages(of app: App) -> Languages { pages(of: app).languages }

  package func html(of mail: QueuedMail, for app: AppID, _ context: RequestContext)
    async throws(Failure) -> String
  {
    pages(of: try await context.apps.app(app)).html(of: mail)
  }
}

extension PagesOfApp {
  /// Returns the HTML part of a mail.
  func html(of mail: QueuedMail) -> String {
    let fallback = languages.best(for: mail.language)?.text(of: .buttonFallback)
    return renderer.html(
      Mail(
        subject: mail.message.subject, text: mail.message.text, language: mail.language,
        secret: mail.secret, label: mail.label, fallback: fallback))
  }
}
