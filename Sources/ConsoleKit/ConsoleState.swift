import Encoding
package import EventLoop
package import HTTP
import HostedPages
import JSON
package import Pages
package import Runtime
package import WireKit

/// The values that a form leaves for the next page.
///
/// They are encrypted in the query of the redirect, bound to the path and the session, and expire.
/// So a reload shows them again, and no link can make a page show a message of an attacker.
package struct ConsoleState {
  package var values: [Value: String] = [:]

  package enum Value: String {
    /// The result of the last form, and the name in it.
    case notice, name
    /// The secret of a new client, which is shown once.
    case secret
    /// A form that waits for a sign-in: its path, its page, its values, and what it does.
    case action, page, form, summary
    /// A sign-in that waits for its code.
    case flow
    /// Settings that a page previews: a merge patch.
    case draft
    /// The page to which a sign-in leads.
    case next
    /// The link of a new administrator, with the address, the authenticator and its new codes.
    case token, email, uri, authenticator, codes
  }

  package static let parameter = "state"
  private static let lifetime = Duration.seconds(600)

  package init(_ values: [Value: String] = [:]) { self.values = values }

  /// Reads the state of the page of a request; an empty state if it has none that is valid.
  @EventLoop package init(of call: Call, session: String) {
    self.init(
      sealed: FormValues(call.request.query)?[Self.parameter] ?? "",
      name: Self.name(String(call.request.path), session), call)
  }

  /// Reads a state that was encrypted for a path without a session.
  @EventLoop package init(sealed text: String, of path: LocalPath, _ call: Call) {
    self.init(sealed: text, name: Self.name(path.text, ""), call)
  }

  /// Reads a state that a form brings back in a hidden field.
  @EventLoop package init(in form: FormValues, of path: LocalPath, _ call: Call) {
    self.init(
      sealed: form[Self.parameter] ?? "", name: Self.name(path.text, ""), call)
  }

  @EventLoop private init(sealed text: String, name: String, _ call: Call) {
    guard let (json, hasExpired) = call.context.keys.master.openedText(text, as: name), !hasExpired
    else { return }
    for (name, value) in json["values"]?.object ?? JSONObject() {
      if let name = Value(rawValue: name) { values[name] = value.string }
    }
  }

  /// Returns a path with this state.
  ///
  /// - Throws: `.internalError` if the state cannot be encrypted.
  @EventLoop package func path(
    _ path: LocalPath, session: String, _ call: Call
  ) throws(Failure) -> LocalPath {
    guard !values.isEmpty else { return path }
    return path.with(Self.parameter, try text(for: path, session: session, call))
  }

  /// Returns the state as text for a hidden field of a form at a path, without a session.
  ///
  /// - Throws: `.internalError` if the state cannot be encrypted.
  @EventLoop package func text(
    for path: LocalPath, session: String = "", _ call: Call
  ) throws(Failure) -> String {
    let json = JSONObject([
      ("values", .object(JSONObject(values.map { ($0.key.rawValue, .string($0.value)) })))
    ])
    let page = path.text.prefix { $0 != "?" }
    return try call.context.keys.master.sealedText(
      json, as: Self.name(String(page), session), for: Self.lifetime)
  }

  private static func name(_ path: String, _ session: String) -> String {
    "console \(path) \(session)"
  }
}
