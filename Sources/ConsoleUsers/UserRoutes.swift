import ConsoleKit
package import WireKit

/// The pages about users: lists, searches, jobs, and all tabs of a user.
package enum UserRoutes {
  package static let all = Array(
    [
      BulkPages.routes,
      DevicePages.routes,
      DocumentPages.routes,
      JobPages.routes,
      PropertyPages.routes,
      SearchPages.routes,
      SessionUndoPages.routes,
      SignInCheckPages.routes,
      SupportPages.routes,
      UserApplicationPages.routes,
      UserListPages.routes,
      UserMailPages.routes,
      UserPages.routes,
      UserMergePages.routes,
      UserPermissionPages.routes,
      UserRolePages.routes,
      UserSignInPages.routes,
    ].joined())
}
