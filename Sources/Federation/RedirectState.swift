import Encoding
package import EventLoop
package import HTTP
import JSON

import OpenIDClient
package import Runtime
import Records

/// The content of `state`, which a redirect to a service brings back: encrypted, for one browser.
///
/// So a start writes nothing. The nonce and the verifier of PKCE follow from its id.
package struct RedirectState: Sendable {
  package let connection: String
  /// The path that handles the result, of the same server.
  package let path: String
  /// Whether the service must state that the user has just authenticated there.
  package let needsProof: Bool
  /// A value for the handler of the path, such as the number of a form.
  package let note: String
  /// A random text, so that no two redirects share a nonce.
  private let id: String

  /// How long the user may take at the service, unless a test says otherwise.
  package static let lifetime = Duration.seconds(3_600)
  /// The longest text in `state`, in bytes.
  package static let longest = 2_048

  package init(
    _ connection: Connection, to path: String, note: String = "", needsProof: Bool = false
  ) {
    (self.connection, self.path, self.note) = (connection.key, path, note)
    self.needsProof = needsProof
    id = Credential.salt().base64URL
  }

  /// Returns the text for the service.
  ///
  /// - Parameters:
  ///   - browser: the key of the browser.
  ///   - lifetime: how long the user may take at the service.
  ///   - context: the context of the request.
  /// - Returns: the text.
  /// - Throws: `.internalError` if it cannot be encrypted.
  @EventLoop package func text(
    for browser: String, lifetime: Duration = Self.lifetime, _ context: RequestContext
  ) throws(Failure) -> String {
    var json = JSONObject()
    json["connection"] = .string(connection)
    json["path"] = .string(path)
    json["note"] = .string(note)
    json["fresh"] = .bool(needsProof)
    json["id"] = .string(id)
    json["browser"] = .string(Self.mark(of: browser, context))
    return try context.keys.master.sealedText(json, as: Self.name(context), for: lifetime)
  }

  /// Reads the text that a service has returned.
  ///
  /// - Throws: `.redirectStateInvalid` if it is forged, has expired, or is of another app.
  @EventLoop package init(_ text: String, _ context: RequestContext) throws(Failure) {
    guard text.utf8.count <= Self.longest,
      let (json, hasExpired) = context.keys.master.openedText(text, as: Self.name(context)),
      !hasExpired, let connection = json["connection"]?.string, let path = json["path"]?.string,
      let id = json["id"]?.string, let browser = json["browser"]?.string
    else { throw .redirectStateInvalid }
    (self.connection, self.path, self.id, self.browser) = (connection, path, id, browser)
    note = json["note"]?.string ?? ""
    needsProof = json["fresh"]?.bool ?? true
  }

  /// The mark of the browser that has begun it; empty before the redirect.
  private var browser = ""

  /// Returns whether a browser has begun it.
  @EventLoop package func isOf(_ browser: String?, _ context: RequestContext) -> Bool {
    browser.map { Self.mark(of: $0, context).hasSameBytes(as: self.browser) } ?? false
  }

  /// The nonce of the ID token.
  @EventLoop func nonce(_ context: RequestContext) -> String { derived("nonce", context) }

  /// The verifier of PKCE.
  @EventLoop func verifier(_ context: RequestContext) -> String { derived("pkce", context) }

  @EventLoop private func derived(_ use: String, _ context: RequestContext) -> String {
    context.keys.master.mark(of: Array("redirect \(use) \(id)".utf8), by: 0).base64URL
  }

  @EventLoop private static func mark(of browser: String, _ context: RequestContext) -> String {
    context.keys.master.mark(of: Array("redirect browser \(browser)".utf8), by: 0).base64URL
  }

  @EventLoop private static func name(_ context: RequestContext) -> String {
    "redirect \(context.app.id)"
  }
}

/// The response of a service, on its way from the redirect URI to the path that handles it.
///
/// The redirect URI is one for each connection, and knows no wire. It encrypts the parameters, so that
/// codes stay out of logs and histories. A response that came by POST from another site goes on by a
/// GET, to which browsers send cookies.
package struct RedirectResponse: Sendable {
  package let state: RedirectState
  let parameters: CallbackParameters

  /// The name of the parameter.
  package static let parameter = "response"
  private static let lifetime = Duration.seconds(300)

  /// Returns the path that handles a response, and its parameter.
  ///
  /// - Parameters:
  ///   - values: the parameters at the redirect URI, as a query.
  ///   - connection: the connection that the redirect URI names.
  ///   - context: the context of the request.
  /// - Returns: the path and the value of the parameter.
  /// - Throws: `.redirectStateInvalid`, also if the state is of another connection.
  @EventLoop package static func forwarding(
    _ values: FormValues, of connection: String, _ context: RequestContext
  ) throws(Failure) -> (path: String, response: String) {
    let parameters = try read(values)
    let state = try RedirectState(parameters.state, context)
    guard state.connection.hasSameBytes(as: connection) else { throw .redirectStateInvalid }
    let json = JSONObject([("query", .string(parameters.query))])
    let sealed = try context.keys.master.sealedText(
      json, as: name(state.path, context), for: lifetime)
    return (state.path, sealed)
  }

  /// Reads the parameter at the path that handles a response.
  ///
  /// - Parameters:
  ///   - text: the value of the parameter.
  ///   - path: the path of the request.
  ///   - context: the context of the request.
  /// - Throws: `.redirectStateInvalid`.
  @EventLoop package init(
    _ text: String, at path: String, _ context: RequestContext
  ) throws(Failure) {
    guard
      let (json, hasExpired) = context.keys.master.openedText(text, as: Self.name(path, context)),
      !hasExpired, let values = FormValues((json["query"]?.string ?? "")[...])
    else { throw .redirectStateInvalid }
    parameters = try Self.read(values)
    state = try RedirectState(parameters.state, context)
  }

  private static func read(_ values: FormValues) throws(Failure) -> CallbackParameters {
    do throws(OpenIDClientError) { return try CallbackParameters(values) } catch {
      throw .redirectStateInvalid(reason: error.rule)
    }
  }

  @EventLoop private static func name(_ path: String, _ context: RequestContext) -> String {
    "redirect response \(context.app.id) \(path)"
  }
}
