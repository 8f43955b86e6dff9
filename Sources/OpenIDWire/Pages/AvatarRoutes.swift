import Accounts
import EventLoop
import HTTP
import Pages
import Runtime
import WireKit

/// The generated pictures of users without one: `/u/avatar/{name}`.
@EventLoop enum AvatarRoutes {
  nonisolated static let routes = [
    Route(
      .get,
      "/u/avatar/{name}",
      access: .open,
      summary: "Read the generated picture of a user"
    ) { (call) throws(Failure) in
      guard let avatar = Avatar(name: call.text("name")) else { throw .routeNotFound }
      var response = Response(.ok)
      response.body = avatar.png
      response.add(.contentType, "image/png")
      response.add(.cacheControl, "public, max-age=31536000, immutable")
      return response
    }
  ]

  /// Returns the path of the generated picture of a user.
  ///
  /// A keyed hash of the user's id is its name.
  nonisolated static func path(of user: UserID, _ master: MasterKey) -> String {
    let hash = master.mark(of: Array("avatar \(user)".utf8), by: 0)
    return "/u/avatar/\(Avatar(hash: hash).name)"
  }
}

/// The paths at which another wire serves the pictures of profiles.
@EventLoop final class PicturePaths: RequestPart {
  fileprivate let path: @Sendable (String) -> String

  init(_ path: @escaping @Sendable (String) -> String) { self.path = path }
}

extension Call {
  /// Returns the path of a picture by its name.
  var picturePath: (String) -> String {
    context.part(PicturePaths.self)?.path ?? { $0 }
  }

  /// Returns the picture of a user as a page shows it; nil if the user has none.
  func image(_ name: String?) -> ImageSource? {
    name.flatMap { LocalPath(picturePath($0)) }.map { ImageSource($0) }
  }
}
