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
