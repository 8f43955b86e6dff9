package import Delivery
import Encoding
package import EventLoop
import Glibc
package import HTTP
import Localization
package import Pages
package import Runtime
import WireKit

/// A page of an app with settings that may not be stored yet, in one color scheme.
///
/// A frame cannot choose the scheme of its page, so each scheme has a stylesheet of its own.
package struct BrandingPreview {
  private let pages: PagesOfApp
  private let scheme: ColorScheme

  /// - Parameters:
  ///   - app: the app with the settings.
  ///   - scheme: the color scheme.
  ///   - context: the context of the request.
  @EventLoop package init(of app: App, in scheme: ColorScheme, _ context: RequestContext) {
    pages = context.dependencies[AppPages.self].preview(of: app)
    self.scheme = scheme
  }

  /// Returns the sign-in page, which a page of this host may show in a frame, and whose form goes
  /// nowhere.
  ///
  /// - Parameter stylesheet: the path of `stylesheet`.
  /// - Returns: the response.
  package func page(stylesheet: LocalPath) -> Response {
    let branding = pages.renderer.branding.shown(in: scheme)
    let renderer = PageRenderer(
      branding: branding,
      assets: PageAssets(
        stylesheet: stylesheet, script: AssetRoutes.path(AssetRoutes.script.name)))
    let page = Pages.Page.signIn(FormTarget(stylesheet), signUp: Destination(stylesheet))
    let now = CalendarTime(seconds: time(nil), nanoseconds: 0)
    let view = PageContext(
      catalog: pages.languages.catalogs[0], languages: [], footer: pages.footer,
      printed: .message(.printedOn, ["time": .time(now)]))
    var response = Response(.ok)
    // A frame takes no focus from its page.
    let html = renderer.html(page, view).replacing(" autofocus", with: "")
    response.body = Array(html.utf8)
    response.add(PageHeaders.preview(of: branding))
    return response
  }

  /// Returns the HTML part of an email, which a page of this host may show in a frame.
  @EventLoop package static func response(
    with mail: QueuedMail, of app: App, _ context: RequestContext
  ) -> Response {
    var response = Response(.ok)
    let pages = context.dependencies[AppPages.self].preview(of: app)
    response.body = Array(pages.html(of: mail).utf8)
    response.add(PageHeaders.mail)
    return response
  }

  package var stylesheet: Response {
    var response = Response(.ok)
    response.body = Array(Stylesheet(pages.renderer.branding, in: scheme).text.utf8)
    response.add(.contentType, Stylesheet.mediaType)
    response.add(.cacheControl, literal: "no-store")
    return response
  }

  /// The contrast of each color that is derived from that of the app.
  package var contrasts: [Palette.Contrast] {
    let color = pages.renderer.branding.color
    let palette = scheme == .dark ? Palette.dark(brand: color) : Palette.light(brand: color)
    return palette.contrasts
  }
}
