import Encoding
package import EventLoop
package import JSON
package import Postgres
package import Runtime

/// The rules for URLs of clients.
///
/// These are stored and compared as typed. In a list, an origin of the local machine with `*` for its
/// port (`http://localhost:*`) stands for every URL there: only programs of the browser's own machine
/// answer at it, at any port and path alike.
/// - Source: RFC 8252 section 7.3.
package enum ClientURL {
  /// The greatest number of URLs in a list.
  package static let most = 100
  /// In bytes, which are ASCII.
  package static let longest = 2_000

  /// Returns the fault of a list of URLs that browsers are sent to; nil if it is valid.
  package static func fault(in value: JSON) -> String? {
    guard let list = value.array, list.count <= most else {
      return "This setting must be a list of at most \(most) URLs."
    }
    for (index, entry) in list.enumerated() {
      guard let text = entry.string else { return "URL \(index + 1) must be a string." }
      if AllowedOrigin.isForAnyPort(text) { continue }
      if let reason = reason(against: text) { return "URL \(index + 1): \(reason)" }
    }
    return nil
  }

  /// Returns the rule that a URL with `*` breaks; nil if it has none, or stands for any port.
  static func wildcardReason(against url: String) -> String? {
    guard url.utf8.contains(UInt8(ascii: "*")), !AllowedOrigin.isForAnyPort(url) else { return nil }
    return "* stands for nothing inside a URL. Only http://localhost:* is a pattern, also with "
      + "127.0.0.1 or [::1]: it stands for each port and path there."
  }

  /// Returns whether a registered URL is a given one, or stands for it.
  package static func matches(_ registered: String, _ url: String) -> Bool {
    guard AllowedOrigin.isForAnyPort(registered) else { return registered.hasSameBytes(as: url) }
    return anyPort(of: url)?.hasSameBytes(as: registered) == true
  }

  /// Returns what stands for a URL of the local machine and all others at its host; nil for other URLs.
  static func anyPort(of url: String) -> String? {
    guard reason(against: url) == nil, let start = url.firstRange(of: "://") else { return nil }
    let origin = url[..<start.upperBound] + url[start.upperBound...].prefix { !"/?".contains($0) }
    return AllowedOrigin.forAnyPort.first { AllowedOrigin.matches($0, String(origin)) }
  }

  /// Returns the rule that a URL breaks; nil if a browser may be sent to it.
  ///
  /// - Source: RFC 3986 sections 2 and 3.1, RFC 8252 section 7, RFC 9700 section 4.1.
  package static func reason(against url: String) -> String? {
    if let reason = textReason(against: url) { return reason }
    guard let (scheme, rest) = parts(of: url) else {
      return "it must begin with a scheme: https://app.example.com/callback or myapp:/callback."
    }
    guard !rest.isEmpty else { return "it must not be only a scheme." }
    if URLScheme.isReserved(scheme) { return "the scheme \(scheme) is refused." }
    guard scheme == "http" || scheme == "https" else { return nil }
    guard let host = host(in: rest) else {
      return "http: and https: need //host, without a user name; a port must be 1 to 65535. "
        + "http://localhost:* stands for each URL there."
    }
    return scheme == "https" || isLoopback(host)
      ? nil : "only localhost, 127.0.0.1 and [::1] may have http; other hosts must have https."
  }

  /// Returns whether a text is a URL that this server may call: https, or http on this machine.
  package static func isCallable(_ url: String) -> Bool {
    guard reason(against: url) == nil, let (scheme, _) = parts(of: url) else { return false }
    return scheme == "http" || scheme == "https"
  }

  /// Returns whether a text is a URL with https, which pages may show and link.
  static func isSecure(_ url: String) -> Bool {
    reason(against: url) == nil && parts(of: url)?.scheme == "https"
  }

  /// Returns the host of a URL in lower case; nil if the text is no URL with a host.
  static func host(of url: String) -> String? { parts(of: url).flatMap { host(in: $0.rest) } }

  private static func textReason(against url: String) -> String? {
    guard (1...longest).contains(url.utf8.count) else {
      return "a URL must have 1 to \(longest) characters."
    }
    guard url.utf8.allSatisfy(\.isVisible) else {
      return "a URL must be ASCII, without spaces and control characters."
    }
    if url.utf8.contains(UInt8(ascii: "#")) { return "a URL must not have a fragment (#)." }
    return url.utf8.contains(where: "\"<>\\^`{|}".utf8.contains)
      ? "a URL must not contain \" < > \\ ^ ` { | }." : nil
  }

  /// Splits a URL into its scheme in lower case and what follows the colon.
  private static func parts(of url: String) -> (scheme: String, rest: Substring)? {
    guard let colon = url.utf8.firstIndex(of: UInt8(ascii: ":")) else { return nil }
    let scheme = url[..<colon].utf8
    guard let first = scheme.first, first.isLetterOrDigit, !first.isDigit,
      scheme.allSatisfy({ $0.isLetterOrDigit || "+-.".utf8.contains($0) })
    else { return nil }
    return (url[..<colon].lowercased(), url[url.utf8.index(after: colon)...])
  }

  /// Returns the host of an authority; nil if it is malformed.
  ///
  /// - Source: RFC 3986 section 3.2.
  private static func host(in rest: Substring) -> String? {
    guard rest.utf8.starts(with: "//".utf8) else { return nil }
    let authority = rest.utf8.dropFirst(2).prefix { !"/?".utf8.contains($0) }
    guard !authority.contains(UInt8(ascii: "@")) else { return nil }
    let isAddress = authority.first == UInt8(ascii: "[")
    var host = authority
    var port: Substring.UTF8View.SubSequence?
    if let colon = authority.lastIndex(of: UInt8(ascii: ":")),
      !isAddress || authority[..<colon].last == UInt8(ascii: "]")
    {
      host = authority[..<colon]
      port = authority[authority.index(after: colon)...]
    }
    if let port {
      guard port.allSatisfy(\.isDigit), let number = UInt16(Substring(port)), number > 0 else {
        return nil
      }
    }
    let name = isAddress ? host.dropFirst().dropLast() : host
    let isFit = name.allSatisfy { byte in
      isAddress
        ? byte.isHexadecimalDigit || ":.".utf8.contains(byte)
        : byte.isLetterOrDigit || "-._".utf8.contains(byte)
    }
    guard !name.isEmpty, isFit, !isAddress || host.last == UInt8(ascii: "]") else { return nil }
    return Substring(host).lowercased()
  }

  private static func isLoopback(_ host: String) -> Bool {
    ["localhost", "127.0.0.1", "[::1]"].contains(host)
  }
}

/// The URLs to which browsers may be sent after a sign-out, compared without query and fragment.
@EventLoop package enum LogoutURLs {
  /// Returns whether a client of an app has registered a URL.
  ///
  /// - Parameters:
  ///   - url: the URL, which may have another query and a fragment.
  ///   - client: the client; nil for any client of the app.
  ///   - context: the context of the request.
  /// - Returns: whether it is registered.
  /// - Throws: `.databaseUnavailable`.
  package static func allow(
    _ url: String, of client: Client?, _ context: RequestContext
  ) async throws(Failure) -> Bool {
    guard let page = page(of: url), !AllowedOrigin.isForAnyPort(page) else { return false }
    if let client {
      return client.settings.logoutURLs.compactMap(Self.page).contains {
        ClientURL.matches($0, page)
      }
    }
    let anyPort = ClientURL.anyPort(of: page) ?? page
    return try await context.first(LogoutURLQueries.find, context.app.id, page, anyPort) != nil
  }

  /// Returns a URL without query and fragment; nil if it cannot stand in a header field.
  ///
  /// The query and the fragment, which no client has registered, may be any text.
  nonisolated static func page(of url: String) -> String? {
    guard (1...ClientURL.longest).contains(url.utf8.count),
      url.utf8.allSatisfy(\.isVisible)
    else { return nil }
    return String(url.prefix { $0 != "?" && $0 != "#" })
  }
}

/// The pages of clients to which pages of this server may link.
@EventLoop package enum ReturnURLs {
  /// Returns the client that may name a URL for a link back to it.
  ///
  /// - Parameters:
  ///   - url: the URL: a registered one, or a page of its origin.
  ///   - origin: the origin of the URL; nil for an app on a device, whose URL must be registered.
  ///   - client: the client; nil for any client of the app.
  ///   - context: the context of the request.
  /// - Returns: the client; nil if none may.
  /// - Throws: `.databaseUnavailable`.
  package static func find(
    _ url: String, at origin: String?, of client: ClientID?, _ context: RequestContext
  ) async throws(Failure) -> ClientName? {
    guard !AllowedOrigin.isForAnyPort(url) else { return nil }
    let found = try await context.read(
      ReturnURLQueries.find, context.app.id, url, origin ?? "", client,
      ClientURL.anyPort(of: url) ?? url
    )
    return found.first
  }
}

extension SQL {
  /// The logout URLs of a client `c`, as a JSON array.
  fileprivate static let logoutURLs: SQL = """
    case when jsonb_typeof(c.settings -> 'logout_urls') = 'array'
      then c.settings -> 'logout_urls' else '[]' end
    """
}

/// A client with its name.
package struct ClientName: RowDecodable {
  package let id: ClientID
  package let name: String

  package init(from row: Row) throws(DatabaseError) {
    id = ClientID(trusted: try row.text(0))
    name = try row.text(1)
  }
}

package enum ReturnURLQueries {
  /// Returns a client that has registered a URL, or another URL of its origin.
  ///
  /// Served by `clients_app_id_client_id_key`. Stored settings that are no list are left out.
  /// - Parameters:
  ///   - 2: the URL.
  ///   - 3: its origin in lower case; empty for none.
  ///   - 4: the client; null for any.
  ///   - 5: what stands for it and all others at its host; the same for other hosts.
  static let find = Statement<ClientName, AppID, String, String, ClientID?, String>(
    "return_urls.find",
    """
    select c.client_id, c.name
    from clients c
    cross join lateral jsonb_array_elements_text(
      case when jsonb_typeof(c.settings -> 'callback_urls') = 'array'
        then c.settings -> 'callback_urls' else '[]' end
      || \(.logoutURLs)
      || case when jsonb_typeof(c.settings -> 'web_origins') = 'array'
        then c.settings -> 'web_origins' else '[]' end) u (url)
    where c.app_id = $1 and c.disabled_at is null and ($4::text is null or c.client_id = $4)
      and (u.url in ($2, $5) or $3 <> '' and starts_with(lower(u.url) || '/', $3 || '/'))
    order by c.client_id limit 1
    """)
}

package enum LogoutURLQueries {
  /// Returns a client that has registered a URL; no row for none.
  ///
  /// Served by `clients_app_id_client_id_key`. Stored settings that are no list are left out.
  /// - Parameter 2: the URL, without query and fragment.
  /// - Parameter 3: what stands for it and all others at its host; the same for other hosts.
  static let find = Statement<String, AppID, String, String>(
    "logout_urls.find",
    """
    select c.client_id
    from clients c
    cross join lateral jsonb_array_elements_text(\(.logoutURLs)) u (url)
    where c.app_id = $1 and c.disabled_at is null and split_part(u.url, '?', 1) in ($2, $3)
    limit 1
    """)
}
