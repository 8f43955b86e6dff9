import JSON
import Runtime
package import Tenancy

extension Client {
  /// Returns whether a URL is registered for responses of a mode.
  ///
  /// A message goes to a web origin only, and its page may name that origin alone. An app on a device
  /// may listen at any port of a loopback address.
  package func mayReceive(at url: String, by mode: ResponseMode?) -> Bool {
    let local = kind == .native ? RedirectTarget(url).withoutLoopbackPort : nil
    let isCallback = settings.callbackURLs.contains { registered in
      if registered.hasSameBytes(as: url) { return true }
      let own = RedirectTarget(registered).withoutLoopbackPort
      return local.map { own?.hasSameBytes(as: $0) == true } ?? false
    }
    guard mode == .webMessage else { return isCallback }
    guard let origin = RedirectTarget(url).origin,
      settings.webOrigins.contains(where: { $0.hasSameBytes(as: origin) })
    else { return false }
    return isCallback || origin.hasSameBytes(as: url)
  }
}
