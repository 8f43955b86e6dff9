/// The error of a fetch.
///
/// Texts are libcurl's, for a log; they may name the host.
package enum FetchError: Error, Equatable {
  /// The URL is malformed, has a scheme that is not allowed, or contains a password.
  case invalidURL(String)
  /// All addresses of the host are private, loopback or reserved.
  case privateAddress
  /// The host is unknown, the connection failed, or it was lost.
  case unreachable(String)
  /// The certificate is not trusted for this host.
  case untrusted(String)
  /// The response was not complete within the time-outs.
  case timedOut
  /// The body is larger than the limit, in bytes.
  case tooLarge(limit: Int)
  /// The response is a redirect, which is not followed; nil without a target.
  case redirected(to: String?)
  /// The status is neither a success nor a redirect.
  case status(Int)
  /// Too many requests of this app, to this receiver or of all wait; no request was sent.
  case overloaded
}
