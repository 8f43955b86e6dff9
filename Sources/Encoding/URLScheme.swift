/// The rules for schemes of URLs.
package enum URLScheme {
  /// Returns whether no app on a device can own the scheme, which is in lower case.
  ///
  /// With these, browsers run scripts, open files or other programs, or show content of others.
  package static func isReserved(_ scheme: String) -> Bool { reserved.contains(scheme) }

  private static let reserved: Set<String> = [
    "about", "blob", "chrome", "content", "data", "file", "filesystem", "ftp", "intent",
    "javascript", "mailto", "resource", "sms", "tel", "vbscript", "view-source", "ws", "wss",
  ]
}
