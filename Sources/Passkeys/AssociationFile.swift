package import JSON
package import Runtime
import Tenancy

/// A file at the RP ID by which browsers and systems learn which pages and apps belong to an app.
///
/// Browsers and systems accept neither a redirect nor another media type than `application/json`.
/// - Source: WebAuthn Level 3 section 5.11; Apple, "Supporting associated domains"; Google, "Digital
///   Asset Links"; W3C, "A Well-Known URL for Relying Party Passkey Endpoints".
package enum AssociationFile: String, CaseIterable, Sendable {
  /// The origins of other domains whose pages may use the passkeys.
  case relatedOrigins = "webauthn"
  /// The apps of Apple's systems that may use passwords and passkeys of the domain.
  case apple = "apple-app-site-association"
  /// The apps of Android that may do so, and open its links.
  case android = "assetlinks.json"
  /// Where a password manager leads users who want to add or manage a passkey.
  case endpoints = "passkey-endpoints"

  package var path: String { "/.well-known/\(rawValue)" }

  /// The page of the account on which users add, rename and remove passkeys.
  package static let accountPath = "/account/passkeys"

  /// Returns the content of the file.
  ///
  /// - Parameters:
  ///   - app: the app.
  ///   - origin: the scheme, host and port of its pages; nil if it has no host name.
  /// - Returns: nil if the settings of the app and of its clients ask for no such file.
  package func content(of app: App, at origin: String?) -> JSON? {
    let settings = app.passkeySettings
    switch self {
    case .relatedOrigins:
      let pages = settings.origins.filter { $0.hasPrefix("https://") }
      return settings.isOpen && !pages.isEmpty ? ["origins": Self.list(pages)] : nil
    case .apple:
      let apps = app.nativeApps.compactMap(\.appleID)
      return apps.isEmpty ? nil : ["webcredentials": ["apps": Self.list(apps)]]
    case .android:
      let apps = app.nativeApps.filter { !$0.androidCertificates.isEmpty }
      return apps.isEmpty ? nil : .array(apps.map(Self.statement))
    case .endpoints:
      guard settings.isOpen, let origin else { return nil }
      let page = JSON.string(origin + Self.accountPath)
      return ["enroll": page, "manage": page]
    }
  }

  private static func statement(_ app: NativeApp) -> JSON {
    [
      "relation": [
        "delegate_permission/common.get_login_creds", "delegate_permission/common.handle_all_urls",
      ],
      "target": [
        "namespace": "android_app", "package_name": .string(app.androidPackage),
        "sha256_cert_fingerprints": list(app.androidCertificates),
      ],
    ]
  }

  private static func list(_ texts: [String]) -> JSON { .array(texts.map(JSON.string)) }
}
