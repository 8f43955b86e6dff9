import EventLoop
import HTTP
import Pages
import Runtime
import WireKit

/// The stylesheet and the script of the pages: `/u/assets/{name}`.
@EventLoop enum AssetRoutes {
  /// Returns the path of a file.
  nonisolated static func path(_ name: String) -> LocalPath {
    LocalPath(checked: "/u/assets/\(name)")
  }

  nonisolated static let routes = [
    Route(
      .get,
      "/u/assets/{name}",
      access: .open,
      summary: "Read the stylesheet or the script of the pages"
    ) { (call) throws(Failure) in
      let name = call.text("name")
      let stylesheet = call.pages.renderer.stylesheet
      if let isCurrent = isNamed(name, "css", stylesheet.version) {
        return response(stylesheet.text, Stylesheet.mediaType, isCurrent)
      }
      if let isCurrent = isNamed(name, "js", PageScript.version) {
        return response(PageScript.text, PageScript.mediaType, isCurrent)
      }
      throw .routeNotFound
    }
  ]

  /// Returns whether a name has the current version of the file; nil if it is another file.
  ///
  /// While settings change or a new version starts, a page may ask a worker that has another version.
  private static func isNamed(_ name: String, _ suffix: String, _ version: String) -> Bool? {
    guard name.utf8.starts(with: "page".utf8),
      name.utf8.reversed().starts(with: ".\(suffix)".utf8.reversed())
    else { return nil }
    return name.utf8.elementsEqual("page-\(version).\(suffix)".utf8)
  }

  private static func response(_ text: String, _ type: String, _ isCurrent: Bool) -> Response {
    var response = Response(.ok)
    response.body = Array(text.utf8)
    response.add(.contentType, type)
    response.add(
      .cacheControl,
      isCurrent ? "public, max-age=31536000, immutable" : "public, max-age=60"
    )
    return response
  }
}
