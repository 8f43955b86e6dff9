import CPostgres

/// The server to connect to, and the settings of the session.
package struct ConnectionSettings: Sendable {
  package let conninfo: String
  package let applicationName: String
  package let timeout: Duration
  package let parameters: [(String, String)]
  /// Whether the server keeps the statements that a connection prepares.
  var preparesStatements = true
  /// Observes each statement of the connection; nil for none.
  var observer: StatementObserver?

  /// Creates settings.
  ///
  /// - Parameters:
  ///   - conninfo: libpq's connection string or URI. Several hosts are tried in turn, so
  ///     `target_session_attrs=read-write` finds the primary. Host names are resolved on the
  ///     caller's thread: prefer addresses and sockets.
  ///   - applicationName: shown in `pg_stat_activity`.
  ///   - timeout: the time for all hosts together; an unresponsive host uses only its share.
  ///   - parameters: server settings of the session, such as `statement_timeout`.
  package init(
    _ conninfo: String, applicationName: String, timeout: Duration = .seconds(5),
    parameters: [(String, String)] = []
  ) {
    self.conninfo = conninfo
    self.applicationName = applicationName
    self.timeout = timeout
    self.parameters = parameters
  }

  /// The parameters in the format of the start-up packet's `options`.
  var options: String {
    parameters.map { name, value in
      let escaped = value.reduce(into: "") { text, character in
        if character == " " || character == "\\" { text.append("\\") }
        text.append(character)
      }
      return "-c \(name)=\(escaped)"
    }.joined(separator: " ")
  }
}

/// The hosts of a connection string, as keywords that override it.
///
/// Without blocking, libpq waits endlessly for a silent host and never tries the next one. So each
/// host is tried alone, with a share of the time.
struct ConnectionHosts {
  /// Keywords and values for each host; a single empty list if there is at most one host.
  let overrides: [[(String, String)]]

  init(_ conninfo: String) {
    let lists = Self.lists(of: conninfo)
    let count = max(lists["host"]?.count ?? 0, lists["hostaddr"]?.count ?? 0)
    guard count > 1, lists.values.allSatisfy({ $0.count == count || $0.count == 1 }) else {
      // One host, or an error that libpq reports.
      overrides = [[]]
      return
    }
    overrides = (0..<count).map { index in
      lists.map { name, values in (name, values.count == 1 ? values[0] : values[index]) }
    }
  }

  /// Returns the values of `host`, `hostaddr` and `port` in a connection string.
  private static func lists(of conninfo: String) -> [String: [String]] {
    guard let options = unsafe PQconninfoParse(conninfo, nil) else { return [:] }
    defer { unsafe PQconninfoFree(options) }
    var lists: [String: [String]] = [:]
    var option = unsafe options
    while let keyword = unsafe option.pointee.keyword {
      let name = unsafe String(cString: keyword)
      if ["host", "hostaddr", "port"].contains(name), let value = unsafe option.pointee.val {
        lists[name] = unsafe String(cString: value)
          .split(separator: ",", omittingEmptySubsequences: false).map(String.init)
      }
      unsafe option += 1
    }
    return lists
  }
}
