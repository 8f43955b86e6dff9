import HTTP
import Encoding
import WireKit

/// The page that the `link` of an error leads to.
///
/// It explains each code.
///
/// Its path ends in `logs?co_id=…` as at App Services, whose SDKs call it the link to the logs. The
/// query has the request id, with which the operator finds the log line. The page does not read it.
enum ErrorPage {
  static let path = "\(AppServicesWire.prefix)/logs"

  static let route = Route(.get, path, access: .open, summary: "Explain the codes of errors") { _ in
    var response = Response(.ok)
    response.body = page
    response.add(.contentType, "text/html; charset=utf-8")
    response.add(.cacheControl, "public, max-age=300")
    return response
  }

  private static let page = Array(text.utf8)

  private static var text: String {
    let rows = ServiceErrorCode.allCases.map { code in
      "<dt id=\"\(code.rawValue)\"><code>\(code.rawValue)</code></dt>"
        + "<dd>\(HTML.escaped(code.meaning))</dd>"
    }
    return """
      <!DOCTYPE html>
      <html lang="en">
      <head>
      <meta charset="utf-8">
      <meta name="viewport" content="width=device-width, initial-scale=1">
      <meta name="color-scheme" content="light dark">
      <title>Errors of the App Services API</title>
      </head>
      <body>
      <main>
      <h1>Errors of the App Services API</h1>
      <p>The address of this page has the id of the request after <code>co_id=</code>. The operator finds
      it in the log of the server, as <code>request</code>.</p>
      <dl>
      \(rows.joined(separator: "\n"))
      </dl>
      </main>
      </body>
      </html>

      """
  }
}
