import EventLoop
import HTTP
import Pages
import Runtime
import WireKit

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
