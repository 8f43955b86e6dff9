import Accounts
import OpenID
import Runtime
import WireKit

extension Call {
  /// Returns this server as the clients of the app know it.
  ///
  /// - Parameter picturePath: returns the path of a picture by its name.
  /// - Returns: the provider.
  func provider(_ picturePath: @escaping @Sendable (String) -> String) -> Provider {
    let (origin, master) = (issuerOrigin, context.keys.master)
    return Provider(issuer: issuer) { profile in
      profile.picture.map { origin + picturePath($0) }
        ?? origin + AvatarRoutes.path(of: profile.id, master)
    }
  }
}
