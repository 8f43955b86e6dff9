/// Why a document could not be fetched.
///
/// Texts are libcurl's, for a log; they may name the host.
package enum FetchError: Error, Equatable {
  /// The URL cannot be read, has a scheme that is not allowed, or carries a password.
  case invalidURL(String)
  /// All addresses of the host are private, loopback or reserved.
  case privateAddress
  /// No such host, no connection, or one that broke off.
  case unreachable(String)
  /// The certificate is not one to trust for this host.
  case untrusted(String)
  /// Nothing, or not all, within the time-outs.
  case timedOut
  /// The body is larger than the limit, in bytes.
  case tooLarge(limit: Int)
  /// The answer points elsewhere, where nobody goes; nil when it does not say where.
  case redirected(to: String?)
  /// An answer that is neither of success nor a redirect.
  case status(Int)
  /// The pool is full: nothing was sent.
  case overloaded
}
