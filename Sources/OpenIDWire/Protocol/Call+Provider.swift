import Accounts
import OpenID
import Runtime
import WireKit

extension Call {
  /// This server as the clients of the app know it.
  var provider: Provider {
    let (origin, master) = (issuerOrigin, context.keys.master)
    return Provider(issuer: issuer) { PicturePaths.url(of: $0, at: origin, master) }
  }
}
