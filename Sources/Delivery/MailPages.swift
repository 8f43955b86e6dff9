package import Runtime

/// The pages of this deployment that the links of mails lead to.
///
/// Their address comes from the configuration. A request could claim any host.
package struct MailPages: Sendable {
  /// The deployment's URL, without a slash at its end.
  private let origin: Substring
  private let usualApp: String

  /// - Parameters:
  ///   - issuer: the deployment's URL.
  ///   - usualApp: the name of the default app, whose pages have that URL.
  package init(issuer: String, usualApp: String) {
    origin = issuer.hasSuffix("/") ? issuer.dropLast() : issuer[...]
    self.usualApp = usualApp
  }

  /// Returns the link for a token; nil if the app has no host name.
  func link(for purpose: EmailToken.Purpose, _ token: String, of app: App) -> String? {
    origin(of: app).map { "\($0)/u/\(purpose.rawValue)?token=\(token)" }
  }

  /// Returns the scheme, host and port of an app's pages; nil if the app has no host name.
  ///
  /// The hosts of apps have the scheme and the port of the deployment.
  package func origin(of app: App) -> String? {
    guard let host = app.hosts.first else {
      return app.name.utf8.elementsEqual(usualApp.utf8) ? String(origin) : nil
    }
    guard let mark = origin.firstRange(of: "://") else { return nil }
    let rest = origin[mark.upperBound...]
    let port = rest.utf8.lastIndex(of: UInt8(ascii: ":")).map { rest[$0...] }
    let isPort = port?.utf8.dropFirst().allSatisfy { UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 }
    return "\(origin[..<mark.upperBound])\(host)\(isPort == true ? port ?? "" : "")"
  }
}
