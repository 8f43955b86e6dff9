import EventLoop
import HTTP
import OpenID
import Runtime
import Sessions
import WireKit

extension Call {
  /// Finds the device on which the users of this browser are signed in at the pages.
  ///
  /// The domain then knows it as the device of the request.
  func findSignInDevice() {
    guard context.device == nil,
      let secret = Cookie.value(of: signInCookie, in: request.field(.cookie))
    else { return }
    context.device = DeviceCredential(secret, isCookie: true, context)
  }

  /// Sets the cookie with the secret of that device.
  func set(signInDevice secret: String?, in response: inout Response) {
    guard let secret else { return }
    let field = Cookie.setting(signInCookie, to: secret, for: Cookie.longestLifetime, .lax)
    response.add(.setCookie, field)
  }

  /// Browsers keep cookies by host, and one host may serve several apps.
  private var signInCookie: String { "__Host-dossier-signin-\(context.app.id)" }
}
