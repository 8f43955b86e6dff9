import Administration
package import ConsolePages
import Encoding
import EventLoop
package import HTTP
import HostedPages
import JSON
import OpenID
import Pages
package import Runtime
package import WireKit

/// Routes of pages that refresh themselves, and of files.
extension ConsoleVisit {
  /// Returns the route of a page that browsers load again every 5 seconds while its work runs.
  package nonisolated static func refreshing(
    _ pattern: String, _ summary: String,
    _ show: @escaping Finding<(page: ConsolePage, isRunning: Bool)>
  ) -> Route {
    shown(pattern, summary) { (visit) async throws(Failure) in
      let (page, isRunning) = try await show(visit)
      var response = visit.response(page)
      // Without the notice of the last form.
      if isRunning { response.add(.refresh, "5; url=\(visit.call.request.path)") }
      return response
    }
  }

  /// Returns the route of a file, which a request to `/v1` gives.
  package nonisolated static func download(
    _ pattern: String, for right: AdministratorRight, _ summary: String,
    _ request: @escaping @EventLoop (ConsoleVisit) -> ConsoleRequest,
    name: @escaping @EventLoop (ConsoleVisit) -> String
  ) -> Route {
    shown(pattern, for: right, isRecent: true, summary) { (visit) async throws(Failure) in
      let found = try await visit.response(to: request(visit))
      var response = Response(found.status)
      (response.body, response.stream) = (found.body, found.stream)
      response.add(.contentType, found[.contentType] ?? MediaType.octets.rawValue)
      response.add(.cacheControl, literal: "no-store")
      response.add(.contentDisposition, "attachment; filename=\"\(name(visit))\"")
      return response
    }
  }

  /// Returns the route of a form with a file, which needs a recent authentication.
  ///
  /// - Parameters:
  ///   - pattern: the path.
  ///   - steps: the number of segments by which the path is longer than that of its page.
  ///   - limit: the longest file, in bytes.
  ///   - right: the right without which the file is refused.
  ///   - summary: what the form does.
  ///   - work: returns the outcome.
  /// - Returns: the route.
  package nonisolated static func upload(
    _ pattern: String, below steps: Int, limit: Int, for right: AdministratorRight,
    _ summary: String,
    _ work: @escaping Handling<Multipart, ConsoleOutcome>
  ) -> Route {
    Route(.post, pattern, access: .open, body: .file(limit: limit), summary: summary) {
      (call) async throws(Failure) in
      try call.requireOrigin()
      guard case .multipart(let form) = call.body else { throw .formForged }
      guard let visit = try await ConsoleVisit(call) else {
        return AccessPages.signIn(call, to: steps)
      }
      try visit.requireToken(form[tokenName].map { Array($0.content) })
      do throws(Failure) {
        try visit.require(right)
        guard visit.session.isRecent else { return AccessPages.confirm(call, to: steps) }
        return try visit.response(to: try await work(visit, form))
      } catch {
        return visit.response(to: error, back: call.pagePath(above: steps))
      }
    }
  }
}

extension FieldName {
  /// The seconds after which a browser loads a page, and its address.
  fileprivate static let refresh = FieldName("Refresh")
  /// Whether a browser shows a response, or stores it as a file.
  fileprivate static let contentDisposition = FieldName("Content-Disposition")
}
