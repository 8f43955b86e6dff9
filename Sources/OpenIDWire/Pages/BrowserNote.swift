import Encoding
import EventLoop
import HTTP
import JSON
import OpenID
import Runtime
import WireKit

/// An address that a browser keeps in an encrypted cookie.
///
/// It is bound to the browser and the app, and expires.
enum BrowserNote: String {
  /// The address for which the browser last sent the right password, without getting a session.
  case password
  /// The address that the user wants to find in the form of the next sign-in.
  case address

  private var lifetime: Duration { self == .password ? .seconds(3_600) : Cookie.longestLifetime }

  /// Returns the address; nil if the browser has none.
  @EventLoop func address(_ call: Call) -> String? {
    guard let browser = call.knownBrowser,
      let text = Cookie.value(of: name(call), in: call.request.field(.cookie)),
      let (json, hasExpired) = call.context.keys.master.openedText(
        text, as: sealName(browser.text, call)
      ), !hasExpired
    else { return nil }
    return json["email"]?.string
  }

  /// Sets the cookie with the response to this request; nil deletes it.
  @EventLoop func keep(_ address: String?, _ call: Call) {
    var value = ""
    if let address {
      let json = JSONObject([("email", .string(address.excerpt(320)))])
      let name = sealName(call.browser.key.text, call)
      value = (try? call.context.keys.master.sealedText(json, as: name, for: lifetime)) ?? ""
    }
    let lifetime = value.isEmpty ? .zero : lifetime
    let field = Cookie.setting(name(call), to: value, for: lifetime, .lax)
    call.context.keep(KeptNote(field))
  }

  @EventLoop private func name(_ call: Call) -> String {
    "__Host-dossier-\(rawValue)-\(call.context.app.id)"
  }

  @EventLoop private func sealName(_ browser: String, _ call: Call) -> String {
    "note \(name(call)) \(browser)"
  }
}

/// The field of a cookie that the response to this request sets.
@EventLoop private final class KeptNote: RequestPart {
  let field: String

  init(_ field: String) { self.field = field }
}

extension Call {
  /// Sets the cookie that this request has kept.
  func keepNote(in response: inout Response) {
    if let note = context.part(KeptNote.self) { response.add(.setCookie, note.field) }
  }
}
