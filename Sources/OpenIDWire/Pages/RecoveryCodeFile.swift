import Encoding
import Glibc
import HTTP
import Pages
import Runtime
import WireKit

extension Call {
  /// Returns new recovery codes as a text file, in the language of the page that shows them.
  func recoveryCodeFile(_ codes: [String], locales: [String] = []) -> Response {
    let now = CalendarTime(seconds: time(nil), nanoseconds: 0)
    let text = pages.renderer.recoveryCodeFile(codes, savedAt: now, in: catalog(locales))
    var response = Response(.ok)
    response.body = Array(text.utf8)
    response.add(.contentType, literal: "text/plain; charset=utf-8")
    // Names of apps are lower-case letters, digits and hyphens.
    response.add(
      .contentDisposition, "attachment; filename=\"\(context.app.name)-recovery-codes.txt\""
    )
    response.add(.cacheControl, literal: "no-store")
    return response
  }
}
