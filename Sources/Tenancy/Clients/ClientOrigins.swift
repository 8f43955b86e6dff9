import Encoding
package import JSON
package import Postgres
package import Runtime

/// The origins of web pages that the clients of an app name.
package struct ClientOrigins: Sendable {
  fileprivate var origins: [String]

  /// Returns whether a client of the app names the origin.
  package func allow(origin: String) -> Bool {
    origins.contains { AllowedOrigin.matches($0, origin) }
  }
}

extension ClientOrigins: AppPart {
  package static func load(
    _ database: Database, _ known: [AppID: ClientOrigins]
  ) async throws(DatabaseError) -> [AppID: ClientOrigins] {
    let rows = try await database.read(ClientOriginQueries.all)
    var parts: [AppID: ClientOrigins] = [:]
    for row in rows {
      parts[row.app, default: ClientOrigins(origins: [])].origins.append(row.origin)
    }
    return parts
  }
}

extension App {
  package var clientOrigins: ClientOrigins { part() ?? ClientOrigins(origins: []) }
}

/// An origin of an app.
struct ClientOriginRow: RowDecodable {
  let app: AppID
  let origin: String

  init(from row: Row) throws(DatabaseError) {
    app = try row.id(0)
    origin = try row.text(1)
  }
}

package enum ClientOriginQueries {
  /// Returns the origins of all clients that are not disabled, and those of their callback URLs.
  ///
  /// Stored settings that are no list, which this version cannot have written, are left out.
  static let all = Statement<ClientOriginRow>(
    "client_origins.all",
    """
    select distinct c.app_id, u.origin
    from clients c
    cross join (values ('web_origins'), ('cors_origins'), ('callback_urls')) s (name)
    cross join lateral jsonb_array_elements_text(
      case when jsonb_typeof(c.settings -> s.name) = 'array' then c.settings -> s.name
        else '[]' end) o (url)
    cross join lateral (
      select case s.name when 'callback_urls' then substring(o.url from '^https?://[^/?#]+')
        else o.url end) u (origin)
    where c.app_id is not null and c.disabled_at is null and u.origin is not null
    """)
}

/// An origin of web pages, written as browsers do.
///
/// An origin of the local machine may have `*` for its port, since development servers vary theirs.
/// - Source: RFC 6454 section 7.
package enum AllowedOrigin {
  /// The greatest number of origins in a list.
  package static let most = 100

  /// Returns the fault of a list of origins; nil if it is valid.
  package static func fault(in value: JSON) -> String? {
    guard let list = value.array, list.count <= most else {
      return "This setting must be a list of at most \(most) origins, such as \(example)."
    }
    for (index, entry) in list.enumerated() {
      guard let text = entry.string else { return "Origin \(index + 1) must be a string." }
      if let reason = reason(against: text) { return "Origin \(index + 1): \(reason)" }
    }
    return nil
  }

  /// Returns whether the setting allows a browser's `Origin`.
  package static func matches(_ setting: String, _ origin: String) -> Bool {
    guard isForAnyPort(setting) else { return setting.hasSameBytes(as: origin) }
    let host = setting.utf8.dropLast(":*".utf8.count)
    guard origin.utf8.starts(with: host) else { return false }
    let port = origin.utf8.dropFirst(host.count)
    // Browsers omit the default port.
    guard let colon = port.first else { return true }
    let digits = port.dropFirst()
    return colon == UInt8(ascii: ":") && (1...5).contains(digits.count)
      && digits.allSatisfy(\.isDigit)
  }

  /// Returns whether the setting allows every port of the local machine.
  ///
  /// Only programs on the browser's own machine can serve pages of such an origin.
  static func isForAnyPort(_ setting: String) -> Bool {
    forAnyPort.contains { setting.hasSameBytes(as: $0) }
  }

  static let forAnyPort = ["http", "https"].flatMap { scheme in
    ["localhost", "127.0.0.1", "[::1]"].map { "\(scheme)://\($0):*" }
  }

  private static let example = "https://app.example.com or http://127.0.0.1:9000"

  private static func reason(against text: String) -> String? {
    if text.utf8.contains(UInt8(ascii: "*")) {
      if isForAnyPort(text) { return nil }
      return "only origins on localhost, 127.0.0.1 and [::1] may have *, in place of the port: "
        + "http://localhost:*. List every other origin, such as https://app.example.com."
    }
    guard let colon = text.firstRange(of: "://"),
      let port = usualPorts[String(text[..<colon.lowerBound])]
    else { return "it must begin with http://, https://, capacitor:// or ionic://." }
    let rest = text[colon.upperBound...].utf8
    if rest.contains(UInt8(ascii: "/")) {
      return "it must not have a path or a slash at its end, because browsers send neither."
    }
    if text != text.lowercased() { return "it must be in lower case, as browsers send it." }
    if !port.isEmpty, rest.reversed().starts(with: port.utf8.reversed()) {
      return "it must not have \(port), because browsers omit the default port."
    }
    let isHost =
      !rest.isEmpty
      && rest.allSatisfy { byte in
        byte.isVisible && !"?#@\"<>\\".utf8.contains(byte)
      }
    return isHost ? nil : "it must have a host after its scheme, such as \(example)."
  }

  private static let usualPorts = ["http": ":80", "https": ":443", "capacitor": "", "ionic": ""]
}
