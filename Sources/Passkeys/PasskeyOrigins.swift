import Delivery
import Encoding
package import EventLoop
package import Runtime
import Tenancy

/// The origins of an app that may use its passkeys, beside `https://` with the RP ID.
@EventLoop package struct PasskeyOrigins {
  private let app: App
  /// The origins of the app's pages.
  package let pages: [String]

  package init(of app: App, _ context: RequestContext) {
    self.app = app
    pages = context.mailer.pages?.origins(of: app) ?? []
  }

  /// The origins that browsers and systems may state.
  ///
  /// Apps of Apple state `https://` with the RP ID.
  package var all: [String] {
    app.passkeySettings.origins + ownPages + app.nativeApps.flatMap(\.androidOrigins)
  }

  /// The origins of the app's pages at the RP ID and below it, to which alone browsers offer passkeys.
  package var ownPages: [String] {
    let domain = app.passkeySettings.relyingPartyID
    return pages.filter { $0.hasPrefix("https://") && Self.host(of: $0).isAtOrBelow(domain) }
  }

  /// Returns the host of an origin.
  package nonisolated static func host(of origin: String) -> String {
    let host = origin.firstRange(of: "://").map { origin[$0.upperBound...] } ?? origin[...]
    guard let colon = host.lastIndex(of: ":"), host[colon...].utf8.dropFirst().allSatisfy(\.isDigit)
    else { return String(host) }
    return String(host[..<colon])
  }
}

extension String {
  /// Returns whether a host is a domain, or one of those below it.
  package func isAtOrBelow(_ domain: String) -> Bool {
    !domain.isEmpty && ".\(self)".utf8.reversed().starts(with: ".\(domain)".utf8.reversed())
  }
}
