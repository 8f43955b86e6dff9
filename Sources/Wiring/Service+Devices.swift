package import Dossier
import EventLoop
package import HTTP

extension Service {
  /// Finds the proof of a device, and whether it is, or is to be, in a cookie.
  ///
  /// A browser sends a cookie whoever made it ask, so the page must be of an origin that may.
  func findDevice(_ call: Call, _ served: ServedWire) throws(Failure) {
    guard let field = served.deviceField else { return }
    let request = call.request
    let shown = request.field(field)
    if let shown, shown != DeviceCookie.wish {
      guard let proof = DeviceProof(shown, call.context) else { throw .deviceUnknown }
      call.context.device = proof
      return
    }
    // A cookie that is of no use any more is replaced at the next login.
    let device = DeviceCookie.value(in: request, of: call.app).flatMap {
      DeviceProof($0, isCookie: true, call.context)
    }
    guard shown != nil || device != nil else { return }
    let changes = request.method != .get && request.method != .head
    if changes, request.field(.origin).flatMap({ call.app?.settings.allows(origin: $0) }) != true {
      throw .originForbidden
    }
    call.context.device = device
    call.usesCookie = true
  }
}

extension Call {
  /// Whether scripts of a page are to get no refresh token: also where a user's token is enough, and
  /// nobody has looked for a device.
  package var isOfBrowser: Bool {
    if usesCookie { return true }
    guard isByToken, let field = endpoint?.served.deviceField else {
      return false
    }
    return request.field(field) == DeviceCookie.wish
      || DeviceCookie.value(in: request, of: app) != nil
  }

  /// Whether a request says something of a device, be it true or not.
  func showsDevice(_ served: ServedWire) -> Bool {
    guard let field = served.deviceField else { return false }
    // Of whichever app: which one is asked is not known yet.
    return request.has(field)
      || Cookie.has(nameBeginning: DeviceCookie.name, in: request.field(.cookie))
  }
}

/// How a browser holds its device.
package enum DeviceCookie {
  /// What the name of each begins with, and all of it that there was of those set before apps had
  /// names of their own, which are taken until a login sets another.
  package static let name = "__Host-dossier-device"
  /// The value of a wire's `deviceField` by which a login asks for it.
  package static let wish = "cookie"

  /// 400 days, the longest that browsers keep one.
  fileprivate static let lifetime = Duration.seconds(34_560_000)

  /// A browser keeps cookies by host, where there may be several apps: each has a name of its own.
  package static func name(of app: AppID) -> String { "\(name)-\(app)" }

  static func value(in request: Request, of app: App?) -> String? {
    guard let app, let field = request.field(.cookie) else { return nil }
    return Cookie.value(of: name(of: app.id), in: field) ?? Cookie.value(of: name, in: field)
  }
}

extension Call {
  /// Gives the browser the secret of its device, in place of what it has sent.
  package func set(deviceCookie secret: String, in response: inout Response) throws(Failure) {
    let app = context.app
    let name = DeviceCookie.name(of: app.id)
    let sameSite = Cookie.SameSite(app.settings.deviceCookieSameSite)
    response.add(.setCookie, Cookie.setting(name, to: secret, for: DeviceCookie.lifetime, sameSite))
    // It may be from before the app chose otherwise.
    guard Cookie.value(of: name, in: request.field(.cookie)) != nil else { return }
    response.add(.setCookie, Cookie.clearing(name, besides: sameSite))
  }
}

extension Cookie.SameSite {
  fileprivate init(_ setting: DeviceCookieSameSite) {
    self =
      switch setting {
      case .strict: .strict
      case .lax: .lax
      case .none: .none
      }
  }
}
