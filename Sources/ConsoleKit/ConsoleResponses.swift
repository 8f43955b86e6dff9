package import ConsolePages
package import EventLoop
package import HTTP
import HostedPages
import JSON
import OpenID
import Pages
package import Runtime
package import WireKit

/// The stylesheet and the script of the console.
@EventLoop package enum AssetPages {
  package nonisolated static let routes = [
    Route(
      .get, "/console/-/assets/{name}", access: .open,
      summary: "Read the stylesheet or the script of the console"
    ) { (call) throws(Failure) in
      let files = [ConsoleResponses.stylesheet, ConsoleResponses.script]
      guard let response = files.response(for: call.text("name")) else { throw .routeNotFound }
      return response
    }
  ]
}

/// The result of a reset of rate limits.
package enum ResetLimits {
  /// Returns how many limits were reset, in words.
  package static func sentence(_ count: Int) -> String {
    switch count {
    case 0: "Nothing was reset: no limit has counted an attempt."
    case 1: "Limits that were reset: 1. A new attempt is possible at once."
    default: "Limits that were reset: \(count). New attempts are possible at once."
    }
  }
}

/// Pages as responses.
package enum ConsoleResponses {
  package static let stylesheet = VersionedFile(
    "console", "css", version: ConsoleAssets.stylesheet.version, type: Stylesheet.mediaType,
    text: ConsoleAssets.stylesheet.text
  )

  package static let script = VersionedFile(
    "console", "js", version: AssetVersion.of(ConsoleAssets.script), type: PageScript.mediaType,
    text: ConsoleAssets.script
  )

  package static let shell = ConsoleShell(
    stylesheet: .console("-", "assets", stylesheet.name),
    script: .console("-", "assets", script.name)
  )

  /// Returns a page without a frame as a response.
  package static func page(_ page: ConsolePage, _ status: Status = .ok) -> Response {
    response(shell.plainHTML(page), status)
  }

  package static func response(_ html: String, _ status: Status, hasFrames: Bool = false)
    -> Response
  {
    var response = Response(status)
    response.body = Array(html.utf8)
    response.add(hasFrames ? .withFrames : .strict)
    response.add(line: "Cross-Origin-Opener-Policy: same-origin\r\n")
    return response
  }

  /// Returns the status of the page of a failure.
  ///
  /// No page answers 401, which would need a challenge.
  package static func status(of failure: Failure) -> Status {
    let status = failure.type.status
    return status == .unauthorized ? .forbidden : status
  }

  /// Returns the page of a failure that has no place in another page.
  package static func failure(_ failure: Failure, request: String?) -> ConsolePage {
    var page: ConsolePage
    switch failure.type.kind {
    case .notFound: page = ConsolePage("Not found")
    case .forbidden, .unauthenticated: page = ConsolePage("Not allowed")
    case .tooMany, .unavailable: page = ConsolePage("Try again later")
    default: page = ConsolePage("This did not work")
    }
    page.body = explanation(of: failure).map { Part.paragraph($0) }
    if failure.type.kind == .internal, let request {
      page.body.append("<p>Request: \(Part.identifier(request))</p>")
    }
    page.body.append(
      "<p>\(Part.link("Back to the console", to: .console(), style: .secondary))</p>")
    return page
  }

  /// Returns the sentences about a failure.
  package static func explanation(of failure: Failure) -> [String] {
    if failure.is(.formForged) {
      return ["The form came from another page. Open the page again, and send the form from there."]
    }
    var sentences = [failure.type.title]
    if let seconds = failure.retryAfter?.wholeSeconds {
      sentences.append("Try again in \(seconds) \(seconds == 1 ? "second" : "seconds").")
    } else if failure.type.kind != .notFound, failure.explanation != failure.type.title {
      sentences.append(failure.explanation)
    }
    return sentences
  }
}
