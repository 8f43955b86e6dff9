package import EventLoop

/// Reads small public documents of other services, such as a JWKS, and posts forms to them.
///
/// An app's owner writes such a URL, so by default only internet addresses are allowed. Each
/// address is checked when its socket is created, after any resolution of names. Nothing is sent to
/// an address that is not public.
@EventLoop package final class HTTPSource {
  private let pool: BlockingPool
  private let settings: HTTPSourceSettings

  /// Creates a source.
  ///
  /// - Parameters:
  ///   - pool: the threads. Each fetch uses one for about `settings.reach.timeout` at most. Do
  ///     not pass the pool of the password hashes, which a slow host would delay.
  ///   - settings: the settings of all fetches.
  package init(pool: BlockingPool, settings: HTTPSourceSettings = HTTPSourceSettings()) {
    self.pool = pool
    self.settings = settings
  }

  /// Gets a document.
  ///
  /// It follows no redirects, uses no cookies or proxies, and does not decompress the body. A
  /// cancelled task still waits for the end.
  /// - Parameter url: `https://…`, in ASCII, without user or password.
  /// - Returns: a document with a status from 200 to 299.
  /// - Throws: `FetchError`; `.overloaded` if the pool is full.
  package func fetch(_ url: String) async throws(FetchError) -> HTTPDocument {
    try await run(url, form: nil)
  }

  /// Posts a form, under the same rules.
  ///
  /// - Parameters:
  ///   - form: names and values, encoded as `application/x-www-form-urlencoded`.
  ///   - url: `https://…`, in ASCII, without user or password.
  /// - Throws: `FetchError`, also for a status beyond 299; `.overloaded` if the pool is full.
  package func post(_ form: String, to url: String) async throws(FetchError) {
    _ = try await run(url, form: form)
  }

  private func run(_ url: String, form: String?) async throws(FetchError) -> HTTPDocument {
    let settings = settings
    let outcome: Result<HTTPDocument, FetchError>
    do throws(BlockingPoolError) {
      outcome = try await pool.run { Fetch.run(url, form: form, settings) }
    } catch {
      throw .overloaded
    }
    return try outcome.get()
  }
}

/// The settings of an `HTTPSource`.
package struct HTTPSourceSettings: Sendable {
  /// 2 s to connect, 5 s in total: a login waits for a JWKS that is not cached.
  package var reach = TransferTimeouts(connectTimeout: .seconds(2), timeout: .seconds(5))
  /// The largest body in bytes: 256 KiB hold a JWKS of 50 RSA keys with certificates.
  package var limit = 256 * 1_024
  /// Whether to allow `http://`, for tests on one machine.
  package var allowsPlainHTTP = false
  /// Whether to allow non-public addresses, for tests and identity providers in the same network.
  package var allowsPrivateAddresses = false

  package init() {}
}

/// A document, and how long it is fresh.
package struct HTTPDocument: Sendable {
  package let body: [UInt8]
  /// The freshness lifetime; zero if caching is forbidden, nil if the server does not state it.
  package let lifetime: Duration?
}
