import EventLoop
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
