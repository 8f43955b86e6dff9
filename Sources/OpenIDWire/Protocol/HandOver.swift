import Encoding
import EventLoop
import HostedPages
import HTTP
import Localization
import OpenID
import Pages
import Runtime
import Tenancy
import WireKit

/// Gives the browser back to the client, with a code or an error.
@EventLoop struct HandOver {
  private let request: AuthorizationRequest
  private let client: Client

  init(_ request: AuthorizationRequest, client: Client) {
    (self.request, self.client) = (request, client)
  }

  /// Returns the response with a code.
  ///
  /// - Parameters:
  ///   - code: the code.
  ///   - call: the request of the browser.
  ///   - afterForm: whether the browser has just sent one of our forms. Browsers apply the policy of
  ///     its page to redirects too, so the response is a page that leads on.
  /// - Returns: a redirect or a page.
  func response(code: String, to call: Call, afterForm: Bool) -> Response {
    response([("code", code)], to: call, afterForm: afterForm)
  }

  /// Returns the response with an error.
  func response(_ error: AuthorizationError, to call: Call, afterForm: Bool = false) -> Response {
    response(error.values, to: call, afterForm: afterForm)
  }

  /// Returns where a link of a page sends the browser with an error; nil if the client gets its
  /// response otherwise than by a URL.
  func link(_ error: AuthorizationError) -> Destination? {
    guard request.mode == .query else { return nil }
    let target = RedirectTarget(request.redirect)
    return Destination(target.url(with: complete(error.values)), of: target)
  }

  /// Adds the values that every response has.
  ///
  /// - Source: RFC 9207 section 2, for `iss`.
  private func complete(_ values: [(String, String)]) -> [(String, String)] {
    var values = values
    if let state = request.state { values.append(("state", state)) }
    values.append(("iss", request.issuer))
    return values
  }

  private func response(_ values: [(String, String)], to call: Call, afterForm: Bool) -> Response {
    let values = complete(values)
    let target = RedirectTarget(request.redirect)
    switch request.mode {
    case .query: return query(values, target, to: call, afterForm: afterForm)
    case .formPost:
      guard let destination = Destination(request.redirect, of: target) else { break }
      let fields = values.map { HiddenField($0.0, $0.1) }
      return call.response(with: .formPost(to: destination, parameters: fields, nonce: .new()))
    case .webMessage:
      guard let origin = target.origin.flatMap({ Origin(url: $0) }) else { break }
      return call.response(with: .webMessage(to: origin, response: values, nonce: .new()))
    }
    return query(values, target, to: call, afterForm: afterForm)
  }

  private func query(
    _ values: [(String, String)], _ target: RedirectTarget, to call: Call, afterForm: Bool
  ) -> Response {
    let url = target.url(with: values)
    if afterForm, let destination = Destination(url, of: target) {
      return call.response(
        with: .handOver(to: destination, client: client.name), hasLanguages: false
      )
    }
    var response = Response(call.request.method == .get ? .found : .seeOther, redirectingTo: url)
    response.add(.referrerPolicy, literal: "no-referrer")
    call.keepBrowser(in: &response)
    return response
  }
}

extension RedirectTarget {
  /// Returns the URL with parameters added to its query.
  func url(with values: [(String, String)]) -> String {
    let pairs = values.map { "\($0)=\(PercentCoding.encode($1))" }.joined(separator: "&")
    return url + (url.utf8.contains(UInt8(ascii: "?")) ? "&" : "?") + pairs
  }
}

extension Nonce {
  /// Returns a nonce of 16 random bytes.
  fileprivate static func new() -> Nonce {
    guard let nonce = Nonce(bytes: Credential.salt()) else {
      preconditionFailure("16 bytes make a nonce")
    }
    return nonce
  }
}
