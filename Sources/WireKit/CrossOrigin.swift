import HTTP
package import Runtime
import Tenancy
package import Records

/// The CORS header fields of a wire.
///
/// - Source: Fetch Standard, section 3.2 (CORS protocol).
struct CrossOrigin: Sendable {
  private let sent: String
  private let exposed: String

  init(_ fields: CrossOriginFields) {
    sent = fields.sent.map(\.text).joined(separator: ", ")
    exposed = fields.exposed.map(\.text).joined(separator: ", ")
  }

  /// The access of the pages of an origin.
  enum Access {
    /// The pages may read responses to requests without cookies.
    case withoutCookies
    /// The pages may also send requests with cookies, and read the responses.
    case withCookies

    /// Returns the most that one of the apps allows; nil if none names the origin.
    ///
    /// The setting `allowed_origins` names the app's own pages. Clients name pages that may belong to
    /// others, so these get no data by the cookies of the app's users.
    init?(of origin: String, to apps: [App]) {
      if apps.contains(where: { $0.browserSettings.allows(origin: origin) }) {
        self = .withCookies
      } else if apps.contains(where: { $0.clientOrigins.allow(origin: origin) }) {
        self = .withoutCookies
      } else {
        return nil
      }
    }
  }

  /// Lets a page of an allowed origin read the response.
  func permit(_ origin: String, _ access: Access, in response: inout Response) {
    response.add(.accessAllowOrigin, origin)
    if access == .withCookies { response.add(.accessAllowCredentials, literal: "true") }
    if !exposed.isEmpty { response.add(.accessExposeHeaders, exposed) }
  }

  /// Lets a page of an allowed origin send the request; browsers cache this for ten minutes.
  func permit(_ origin: String, _ access: Access, methods: String, in response: inout Response) {
    permit(origin, access, in: &response)
    response.add(.accessAllowMethods, methods)
    if !sent.isEmpty { response.add(.accessAllowHeaders, sent) }
    response.add(.accessMaxAge, literal: "600")
  }
}

/// The settings of requests from web pages.
package struct BrowserSettings: RecordPart {
  private let origins: [String]
  let deviceCookieSameSite: Cookie.SameSite

  package init(_ read: inout RecordReader) {
    origins = read.texts(
      "allowed_origins",
      ColumnRule(.texts(atMost: AllowedOrigin.most)) { value in
        AllowedOrigin.fault(in: value).map { ("origin", $0) }
      },
      "origins of web pages that may call the API, such as https://app.example.com; for development, "
        + "http://localhost:* and http://127.0.0.1:* allow every port of the browser's machine"
    )
    deviceCookieSameSite = read.choice(
      "device_cookie_same_site",
      Cookie.SameSite.strict,
      safe: .strict,
      "which requests have the device cookie: strict, those of the same site; lax, also a link from "
        + "another site; none, also those of the pages in allowed_origins"
    )
  }

  package func allows(origin: String) -> Bool {
    origins.contains { AllowedOrigin.matches($0, origin) }
  }
}

extension App {
  package var browserSettings: BrowserSettings { settings[BrowserSettings.self] }
}
