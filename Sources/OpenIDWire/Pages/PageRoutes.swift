import Accounts
import EventLoop
import HTTP
import Pages
import Runtime
import WireKit

/// The routes of all pages.
enum PageRoutes {
  static var routes: [Route] {
    let pages = MailLinkPages.routes + SignInPages.routes + AccountPages.routes
    return AssetRoutes.routes + AvatarRoutes.routes
      + pages.map { route in
        Route(
          route.method, route.pattern, access: route.access, body: route.body, isCrossOrigin: false,
          summary: route.summary
        ) { (call) async throws(Failure) in
          await call.findProfileLanguage()
          call.mailInLanguageOfPage()
          return try await route.handler(call)
        }
      }
  }
}

/// The stylesheet and the script of the pages: `/u/assets/{name}`.
@EventLoop enum AssetRoutes {
  nonisolated static let routes = [
    Route(
      .get, "/u/assets/{name}", access: .open,
      summary: "Read the stylesheet or the script of the pages"
    ) { (call) throws(Failure) in
      let files = [file(call.pages.renderer.stylesheet), script]
      guard let response = files.response(for: call.text("name")) else { throw .routeNotFound }
      return response
    }
  ]

  /// Returns the path of a file.
  nonisolated static func path(_ name: String) -> LocalPath {
    LocalPath(checked: "/u/assets/\(name)")
  }

  nonisolated static func file(_ stylesheet: Stylesheet) -> VersionedFile {
    VersionedFile(
      "page", "css", version: stylesheet.version, type: Stylesheet.mediaType, text: stylesheet.text
    )
  }

  nonisolated static let script = VersionedFile(
    "page", "js", version: PageScript.version, type: PageScript.mediaType, text: PageScript.text
  )
}

/// The generated pictures of users without one: `/u/avatar/{name}`.
@EventLoop enum AvatarRoutes {
  nonisolated static let routes = [
    Route(
      .get, "\(PicturePaths.generated){name}", access: .open,
      summary: "Read the generated picture of a user"
    ) { (call) throws(Failure) in
      guard let name = AvatarName(call.text("name")) else { throw .routeNotFound }
      var response = Response(.ok)
      response.body = Avatar(name.bytes).png
      response.add(.contentType, "image/png")
      response.add(.cacheControl, "public, max-age=31536000, immutable")
      return response
    }
  ]
}

extension Call {
  /// Returns the picture of a user as a page shows it; nil if the user has none.
  func image(_ name: String?) -> ImageSource? {
    name.flatMap { LocalPath(PicturePaths.path($0)) }.map { ImageSource($0) }
  }
}
