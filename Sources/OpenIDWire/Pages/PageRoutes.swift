import EventLoop
import Runtime
import WireKit

/// The routes of all pages.
enum PageRoutes {
  /// Returns the routes; `picturePath` returns the path at which another wire serves a picture.
  static func routes(_ picturePath: @escaping @Sendable (String) -> String) -> [Route] {
    let pages = MailLinkPages.routes + SignInPages.routes + AccountPages.routes
    return AssetRoutes.routes + AvatarRoutes.routes
      + pages.map { route in
        Route(
          route.method,
          route.pattern,
          access: route.access,
          body: route.body,
          isCrossOrigin: false,
          summary: route.summary
        ) { (call) async throws(Failure) in
          call.context.keep(PicturePaths(picturePath))
          await call.findProfileLanguage()
          call.mailInLanguageOfPage()
          return try await route.handler(call)
        }
      }
  }
}
