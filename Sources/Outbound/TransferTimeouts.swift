/// The time-outs and the trusted authorities for another machine.
package struct TransferTimeouts: Sendable {
  /// The time to connect, including the look-up of the name and the TLS handshake.
  package var connectTimeout: Duration
  /// The total time, including the connection.
  package var timeout: Duration
  /// A PEM file of the trusted certificate authorities; nil for the system's.
  package var authorities: String?

  /// Creates limits.
  ///
  /// - Parameters:
  ///   - connectTimeout: from one millisecond to a day.
  ///   - timeout: likewise.
  ///   - authorities: the path of a PEM file, or nil.
  package init(connectTimeout: Duration, timeout: Duration, authorities: String? = nil) {
    self.connectTimeout = connectTimeout
    self.timeout = timeout
    self.authorities = authorities
  }
}
