import Encoding
import EventLoop
package import HTTP
import JSON
package import OpenID
package import Pages
import PasswordHashes
package import Runtime
package import Tenancy
package import WireKit

extension BodyRule {
  /// The form of a page.
  package static let form = BodyRule.of(.form, limit: 16_384)

  /// Returns the rule for a form of a page with a file.
  ///
  /// - Parameter limit: the longest file, in bytes.
  /// - Returns: the rule.
  package static func file(limit: Int) -> BodyRule {
    .of(.multipart(Multipart.Limits(parts: 4, content: limit)), limit: limit + 16_384)
  }
}

extension Call {
  /// Returns the target of a form that only this browser can send.
  ///
  /// - Parameters:
  ///   - path: the path of the form.
  ///   - flow: what the form belongs to, such as an authorization.
  ///   - hidden: further values that come back with the form.
  /// - Returns: the target.
  package func target(
    _ path: LocalPath, of flow: String, _ hidden: [HiddenField] = []
  ) -> FormTarget {
    let token = browser.key.formToken(flow, context.keys.master)
    return FormTarget(path, hidden: [HiddenField(Self.formToken, token)] + hidden)
  }

  /// Returns the form in the body, after checking that a page of this server has sent it.
  ///
  /// - Parameter flow: as in the target of the form.
  /// - Returns: the values.
  /// - Throws: `.cookiesNeeded` if the browser has no cookie; `.formForged` if another site or
  ///   another browser has sent the form.
  package func form(of flow: String) throws(Failure) -> FormValues {
    guard case .form(let form) = body else { throw .internalError(reason: "a page without a form") }
    try requireOwnForm(form[Self.formToken], of: flow)
    return form
  }

  /// Checks that a page of this server has sent a form with this token.
  ///
  /// Browsers send `Origin` with each POST. A page without it is still bound by the token.
  package func requireOwnForm(_ token: String?, of flow: String) throws(Failure) {
    let browser = try requireOwnBrowser()
    let expected = browser.formToken(flow, context.keys.master)
    guard let token, areSame(Array(token.utf8), Array(expected.utf8)) else { throw .formForged }
  }

  /// Returns the browser, after checking that no page of another server has sent its form.
  @discardableResult
  package func requireOwnBrowser() throws(Failure) -> BrowserKey {
    if let origin = request.field(.origin), !isOwn(origin: origin) { throw .formForged }
    guard let browser = knownBrowser else { throw .cookiesNeeded }
    return browser
  }

  /// Returns whether an origin is that of this request: scheme, host and port.
  ///
  /// A page at another port of the host is not a page of this server.
  package func isOwn(origin: String) -> Bool { origin.hasSameBytes(as: self.origin) }

  private static let formToken = "csrf"
}

extension Call {
  /// Does the work of a form, unless another request with the same form does it.
  ///
  /// A second click thus changes nothing.
  /// - Parameters:
  ///   - form: the values, with that of `HiddenField.once`.
  ///   - key: returns the key of the form among those of its sender.
  ///   - page: the page to show if the response of the first request is lost.
  ///   - work: returns the response; one that is no redirect counts as refused, and may be sent again.
  /// - Returns: the response of the first request.
  /// - Throws: `.formForged`, `.tooManyRequests`, `.overloaded`, `.databaseUnavailable`, and failures
  ///   of the work.
  package func respondOnce(
    to form: FormValues, keyed key: (String) -> IdempotencyRecords.Key, orShow page: LocalPath,
    _ work: @EventLoop () async throws(Failure) -> Response
  ) async throws(Failure) -> Response {
    guard form[HiddenField.onceName]?.isEmpty == false else { throw .formForged }
    // A form with other values is another form, such as one that the user has corrected.
    let values = form.pairs.map { "\($0.name)=\($0.value)" }.joined(separator: "&")
    let key = key("page \(values)")
    let request = Array("\(request.path)?\(request.query)".utf8)
    // The other request sends a mail, which takes less than a second.
    for _ in 0..<50 {
      switch try await IdempotencyRecords.begin(key, for: request, context) {
      case .first:
        do throws(Failure) {
          let response = try await work()
          if let target = response[.location] {
            await IdempotencyRecords.keep(Array(target.utf8), for: key, context)
          } else {
            await IdempotencyRecords.forget(key, context)
          }
          return response
        } catch {
          await IdempotencyRecords.forget(key, context)
          throw error
        }
      case .answered(let target):
        return redirect(to: LocalPath(String(decoding: target, as: UTF8.self)) ?? page)
      case .lost: return redirect(to: page)
      case .underWay: await EventLoop.sleep(for: .milliseconds(100))
      case .otherRequest: throw .formForged
      case .full: throw .tooManyRequests(retryAfter: .seconds(3_600))
      }
    }
    throw .overloaded(retryAfter: .seconds(1))
  }
}

extension FormValues {
  /// Returns the text of a field without the spaces around it; empty if the field is absent.
  package func trimmed(_ name: InputName) -> String { trimmed(named: name.text) }

  /// Returns the text of a field without the spaces around it; empty if the field is absent.
  package func trimmed(named name: String) -> String {
    var text = Substring(self[name] ?? "").unicodeScalars
    while let first = text.first, first.properties.isWhitespace { text.removeFirst() }
    while let last = text.last, last.properties.isWhitespace { text.removeLast() }
    return String(text)
  }

  /// Returns the text of a field as the user typed it; empty if the field is absent.
  package func text(_ name: InputName) -> String { self[name.text] ?? "" }

  /// Returns whether the form names a user.
  package func names(_ user: UserID) -> Bool { self["user"]?.hasSameBytes(as: user.text) == true }

  /// Returns a code of digits; nil if it has another length.
  ///
  /// People type spaces and hyphens between the digits.
  package func code(digits: Int) -> String? {
    let text = trimmed(.code).unicodeScalars.filter { $0 != " " && $0 != "-" }
    guard text.count == digits, text.allSatisfy({ ("0"..."9").contains($0) }) else { return nil }
    return String(String.UnicodeScalarView(text))
  }

  /// Returns the error for a code of another length, which the field keeps.
  package func malformedCode(digits: Int) -> FormError {
    FormError(.codeMalformed, digits, typed: trimmed(.code))
  }
}

extension HiddenField {
  fileprivate static let onceName = "once"

  /// Returns the field with a unique value, by which a form has one effect.
  package static func once() -> HiddenField {
    HiddenField(onceName, Credential.salt().base64URL)
  }

  /// Returns the field that names a user.
  package static func user(_ user: UserID) -> HiddenField { HiddenField("user", user.text) }
}
