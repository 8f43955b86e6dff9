import Accounts
package import EventLoop
import HTTP
package import Pages
import Runtime
package import WireKit

/// The stylesheet and the script of the pages: `/u/assets/{name}`.
@EventLoop package enum AssetRoutes {
  package nonisolated static let routes = [
    Route(
      .get, "/u/assets/{name}", access: .open,
      summary: "Read the stylesheet or the script of the pages"
    ) { (call) throws(Failure) in
      let files = [file(call.pages.renderer.stylesheet), script]
      guard let response = files.response(for: call.text("name")) else { throw .routeNotFound }
      return response
    },
    // Browsers ask for it beside every response, such as the documentation.
    Route(.get, "/favicon.ico", access: .open, summary: "Read the icon of the app") { call in
      let branding = call.pages.renderer.branding
      var response: Response
      if let icon = branding.icon {
        response = Response(.found, redirectingTo: icon.destination.text)
      } else {
        response = Response(.ok)
        response.body = Array(AppIcon(branding).svg.utf8)
        response.add(.contentType, AppIcon.mediaType)
      }
      response.add(.cacheControl, literal: "public, max-age=3600")
      return response
    },
  ]

  /// Returns the path of a file.
  package nonisolated static func path(_ name: String) -> LocalPath {
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
@EventLoop package enum AvatarRoutes {
  package nonisolated static let routes = [
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
