import HTTP
package import Runtime
import Tenancy

/// The settings of requests from web pages.
package struct BrowserSettings: SettingsSection {
  private let origins: [String]
  let deviceCookieSameSite: Cookie.SameSite

  package init(_ read: inout SettingsReader) {
    origins = read.texts(
      "allowed_origins",
      SettingRule(.texts(atMost: AllowedOrigin.most)) { value in
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
