package import EventLoop
import HTTP
import JSON
import Localization
import OpenID
package import Pages
package import Runtime
package import WireKit

/// The state that a form leaves for the next page, where no authorization keeps it.
///
/// It is encrypted in the query of the redirect. So two tabs do not mix it, a reload shows it again,
/// and no attacker can make a page show an error or an address of their choice. It is bound to the
/// path, the browser and its user, and expires.
package struct PageState {
  package var errors: [FormError] = []
  /// The user's input in fields that are no secrets, and other values of the page.
  package var values: [Value: String] = [:]

  /// The name of a value.
  package enum Value: String, Sendable {
    // The input of users.
    case name, email, locale, zone
    /// The flow of a code that was emailed.
    case flow
    /// The path of the page that needs a confirmation.
    case target = "to"
    /// A new authenticator app: its id, its secret and the URI with both.
    case factor, secret, uri
    /// New recovery codes, with blanks between them.
    case codes
    /// The id of the client that has signed the user out.
    case client
    /// The key of the text that reports the change of the last form.
    case notice
    /// The number of passkeys that still sign in after a new password.
    case passkeys
    /// Where the browser goes after the sign-out at another service; empty for the page itself.
    case afterSignOut = "after"
  }

  /// The name of the parameter, which a service also returns after a sign-out there.
  ///
  /// - Source: OpenID Connect RP-Initiated Logout section 3.
  private static let parameter = "state"
  private static let lifetime = Duration.seconds(600)
  /// The longest value that is kept, in bytes: it returns in the address of the page.
  private static let longest = 1_300

  package init(errors: [FormError] = [], values: [Value: String] = [:]) {
    self.errors = errors
    self.values = values.filter { $0.value.utf8.count <= Self.longest }
  }

  /// Reads the state of the page of a request; an empty state if it has none that is valid.
  @EventLoop package init(of call: Call) {
    self.init()
    guard let text = FormValues(call.request.query)?[Self.parameter],
      let browser = call.knownBrowser,
      let (json, hasExpired) = call.context.keys.master.openedText(
        text, as: Self.name(String(call.request.path), browser, call.context.principal.user)
      ), !hasExpired
    else { return }
    errors = json["errors"]?.array?.compactMap { $0.string.flatMap(FormError.init) } ?? []
    for (name, value) in json["values"]?.object ?? JSONObject() {
      if let name = Value(rawValue: name) { values[name] = value.string }
    }
  }

  /// Returns a path with this state, for the user of the request.
  ///
  /// - Throws: `.internalError` if the state cannot be encrypted.
  @EventLoop package func path(_ path: LocalPath, _ call: Call) throws(Failure) -> LocalPath {
    try self.path(path, call, for: call.context.principal.user)
  }

  /// Returns a path with this state.
  ///
  /// - Parameters:
  ///   - path: the path of the page, perhaps with a query.
  ///   - call: the request of the form.
  ///   - user: the user who will see the page; nil for a page that does not know its user.
  /// - Returns: the path; the same without errors and values.
  /// - Throws: `.internalError` if the state cannot be encrypted.
  @EventLoop package func path(
    _ path: LocalPath, _ call: Call, for user: UserID?
  ) throws(Failure) -> LocalPath {
    guard !errors.isEmpty || !values.isEmpty else { return path }
    return path.with(Self.parameter, try text(for: path, call, user))
  }

  /// Returns the value of the parameter for a path and a user.
  ///
  /// - Throws: `.internalError` if the state cannot be encrypted.
  @EventLoop package func text(
    for path: LocalPath, _ call: Call, _ user: UserID?
  ) throws(Failure) -> String {
    var json = JSONObject()
    json["errors"] = .array(errors.map { .string($0.text) })
    json["values"] = .object(JSONObject(values.map { ($0.key.rawValue, .string($0.value)) }))
    let page = path.text.prefix { $0 != "?" }
    let name = Self.name(String(page), call.browser.key, user)
    return try call.context.keys.master.sealedText(json, as: name, for: Self.lifetime)
  }

  private static func name(_ path: String, _ browser: BrowserKey, _ user: UserID?) -> String {
    "page \(path) \(browser.text) \(user?.text ?? "")"
  }
}
