package import EventLoop

/// Reads small public documents of other services: a JWKS, an OpenID discovery document.
///
/// An app's owner writes such a URL, so by default it leads nowhere but to the internet: each address
/// is looked at when the socket to it is made, whatever name, number or look-up led there, and
/// nothing is sent to one that is not public.
@EventLoop package final class HTTPSource {
  private let pool: BlockingPool
  private let settings: HTTPSourceSettings

  /// - Parameters:
  ///   - pool: each fetch holds one of its threads, for about `settings.reach.timeout` at most; not the
  ///     pool of the password hashes, which a slow host would then hold up.
  ///   - settings: for all that this source fetches.
  package init(pool: BlockingPool, settings: HTTPSourceSettings = HTTPSourceSettings()) {
    self.pool = pool
    self.settings = settings
  }

  /// Gets a document.
  ///
  /// Redirects are not followed, no cookie or proxy is used, the body is not decompressed. A task
  /// that is cancelled waits for the end all the same.
  /// - Parameter url: `https://…`, in ASCII, without user or password.
  /// - Returns: an answer with a status from 200 to 299.
  /// - Throws: `FetchError`; `.overloaded` when the pool is full.
  package func fetch(_ url: String) async throws(FetchError) -> HTTPDocument {
    let settings = settings
    let outcome: Result<HTTPDocument, FetchError>
    do throws(BlockingPoolError) {
      outcome = try await pool.run { Fetch.run(url, settings) }
    } catch {
      throw .overloaded
    }
    return try outcome.get()
  }
}

/// What an `HTTPSource` accepts.
package struct HTTPSourceSettings: Sendable {
  /// 2 s to connect, 5 s in total: a login waits for a JWKS that is not at hand.
  package var reach = Reach(connectTimeout: .seconds(2), timeout: .seconds(5))
  /// Bytes of a body; 256 KiB are a JWKS of 50 RSA keys with certificates.
  package var limit = 256 * 1_024
  /// Also `http://`: for tests on one machine.
  package var allowsPlainHTTP = false
  /// Also addresses that are not public: for tests, and identity providers in the same network.
  package var allowsPrivateAddresses = false

  package init() {}
}

/// A document and what its server says of it.
package struct HTTPDocument: Sendable {
  /// From 200 to 299.
  package let status: Int
  /// `Content-Type` as sent; nil when it was not.
  package let contentType: String?
  package let body: [UInt8]
  /// How long it may be kept; zero when it must not be, nil when the server does not say.
  package let lifetime: Duration?
}
