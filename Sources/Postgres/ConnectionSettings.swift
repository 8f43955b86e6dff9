/// The server to connect to, and the settings of the session.
package struct ConnectionSettings: Sendable {
  package let conninfo: String
  package let applicationName: String
  package let timeout: Duration
  package let parameters: [(String, String)]
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
