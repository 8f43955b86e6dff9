/// Where to connect and with which settings.
package struct ConnectionSettings: Sendable {
  package let conninfo: String
  package let applicationName: String
  package let timeout: Duration
  package let parameters: [(String, String)]

  /// - Parameters:
  ///   - conninfo: libpq's connection string or URI; several hosts are tried in turn, so that with
  ///     `target_session_attrs=read-write` the primary is found. Host names are resolved on the
  ///     caller's thread: prefer addresses and sockets.
  ///   - applicationName: shown in `pg_stat_activity`.
  ///   - timeout: for all hosts together; a host that does not answer uses up its share alone.
  ///   - parameters: settings of the server for this session, such as `statement_timeout`.
  package init(
    _ conninfo: String,
    applicationName: String,
    timeout: Duration = .seconds(5),
    parameters: [(String, String)] = []
  ) {
    self.conninfo = conninfo
    self.applicationName = applicationName
    self.timeout = timeout
    self.parameters = parameters
  }

  /// `parameters` as the start-up packet's `options` has them.
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
