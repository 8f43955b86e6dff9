import Encoding

/// The names of a browser and its system, as people know them.
///
/// Programs choose their `User-Agent` freely, so the names are only a hint.
package struct BrowserName: Sendable {
  /// Nil for an unknown system.
  package let system: String?
  /// Nil for an unknown browser.
  package let browser: String?
  /// The browser, or the name that another program gives itself.
  package let program: String?

  /// The program and its system, such as “Firefox, Linux”; nil for an empty `User-Agent`.
  package var label: String? {
    let parts = [program, system].compactMap(\.self)
    return parts.isEmpty ? nil : parts.joined(separator: ", ")
  }

  package init(_ agent: String) {
    func first(_ names: [(mark: String, name: String)]) -> String? {
      names.first { agent.contains($0.mark) }?.name
    }
    system = first([
      ("iPhone", "iPhone"), ("iPad", "iPad"), ("Android", "Android"), ("Windows", "Windows"),
      ("Macintosh", "Mac"), ("CrOS", "ChromeOS"), ("Linux", "Linux"), ("Darwin", "Apple"),
    ])
    // The order matters: most browsers also name those that they resemble.
    browser = first([
      ("Edg", "Edge"), ("OPR/", "Opera"), ("SamsungBrowser", "Samsung Internet"),
      ("Firefox/", "Firefox"), ("FxiOS", "Firefox"), ("CriOS", "Chrome"), ("Chrome/", "Chrome"),
      ("Safari/", "Safari"),
    ])
    program = browser ?? agent.split(separator: "/").first.map { $0.description.excerpt(40) }
  }
}
