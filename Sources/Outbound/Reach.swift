/// How long to wait for another machine, and whom to believe that it is the one.
package struct Reach: Sendable {
  /// Until a connection stands, with the look-up of the name and the TLS handshake.
  package var connectTimeout: Duration
  /// Until all is said, connecting included.
  package var timeout: Duration
  /// A PEM file of the certificate authorities to trust instead of the system's; nil trusts those.
  package var authorities: String?

  /// - Parameters:
  ///   - connectTimeout: from one millisecond to a day.
  ///   - timeout: likewise; a thread of the pool is held that long, and a second more at most.
  ///   - authorities: the path of a PEM file, or nil.
  package init(connectTimeout: Duration, timeout: Duration, authorities: String? = nil) {
    self.connectTimeout = connectTimeout
    self.timeout = timeout
    self.authorities = authorities
  }
}
