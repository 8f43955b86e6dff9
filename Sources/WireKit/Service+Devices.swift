package import Runtime
import Sessions
import EventLoop
package import HTTP

extension Service {
  /// Finds the device secret of a request, and whether a cookie holds it or will hold it.
  ///
  /// A browser also sends cookies with requests that another site caused. So the origin of the page
  /// must be allowed.
  func findDevice(_ call: Call, _ served: ServedWire) throws(Failure) {
    guard let field = served.deviceField else { return }
    let request = call.request
    let shown = request.field(field)
    if let shown, shown != DeviceCookie.wish {
      guard let proof = DeviceCredential(shown, call.context) else { throw .deviceUnknown }
      call.context.device = proof
      return
    }
    // A login replaces a cookie that is no longer valid.
    let device = DeviceCookie.value(in: request, of: call.app).flatMap {
      DeviceCredential($0, isCookie: true, call.context)
    }
    guard shown != nil || device != nil else { return }
    let changes = request.method != .get && request.method != .head
    if changes,
      request.field(.origin).flatMap({ call.app?.browserSettings.allows(origin: $0) }) != true
    {
      throw .originForbidden
    }
    call.context.device = device
    call.usesCookie = true
  }
}

extension Call {
  /// Whether scripts of a page must not receive the refresh token.
  ///
  /// This also holds if a user's token was sufficient and the device was not looked up.
  package var isOfBrowser: Bool {
    if usesCookie { return true }
    guard isByToken, let field = endpoint?.served.deviceField else {
      return false
    }
    return request.field(field) == DeviceCookie.wish
      || DeviceCookie.value(in: request, of: app) != nil
  }

  /// Returns whether a request contains a device secret, valid or not.
  func showsDevice(_ served: ServedWire) -> Bool {
    guard let field = served.deviceField else { return false }
    // A cookie of any app counts, since the app is not known yet.
    return request.has(field)
      || Cookie.has(nameBeginning: DeviceCookie.name, in: request.field(.cookie))
  }
}

/// The cookie in which a browser keeps its device secret.
package enum DeviceCookie {
  /// The prefix of every cookie name, and the whole name of older cookies.
  ///
  /// Older cookies date from before each app had its own name. They are valid until a login
  /// replaces them.
  package static let name = "__Host-dossier-device"
  /// The value of a wire's `deviceField` with which a login asks for a cookie.
  package static let wish = "cookie"

  /// Returns the cookie name of an app.
  ///
  /// Browsers keep cookies by host, and one host may serve several apps. So each app has its own
  /// name.
  package static func name(of app: AppID) -> String { "\(name)-\(app)" }

  static func value(in request: Request, of app: App?) -> String? {
    guard let app, let field = request.field(.cookie) else { return nil }
    return Cookie.value(of: name(of: app.id), in: field) ?? Cookie.value(of: name, in: field)
  }
}

extension Call {
  /// Adds a cookie with the device secret, which replaces the cookie that the browser sent.
  package func set(deviceCookie secret: String, in response: inout Response) throws(Failure) {
    let app = context.app
    let name = DeviceCookie.name(of: app.id)
    let sameSite = app.browserSettings.deviceCookieSameSite
    let lifetime = Cookie.longestLifetime
    response.add(.setCookie, Cookie.setting(name, to: secret, for: lifetime, sameSite))
    // The browser may still have a cookie from before the app changed its `SameSite` setting.
    guard Cookie.value(of: name, in: request.field(.cookie)) != nil else { return }
    response.add(.setCookie, Cookie.clearing(name, besides: sameSite))
  }
}
