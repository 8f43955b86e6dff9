import Encoding
package import EventLoop
import JSON
import OpenIDClient
package import Outbound
package import Runtime
import Tenancy
import WebTokens
import Records

/// Calls the services of connections, and keeps what they publish.
///
/// Its calls have places of their own, so that a slow service delays no other kind of call.
@EventLoop package final class Upstream: DomainService {
  private let source: HTTPSource
  private let allowsPlainHTTP: Bool
  /// How long a discovery document is kept at least: endpoints change seldom, unlike keys.
  private static var metadataLifetime: Duration { .seconds(3_600) }
  /// By the app and the name of the connection.
  private var services: [String: Service] = [:]

  package init(_ source: HTTPSource, allowsPlainHTTP: Bool) {
    (self.source, self.allowsPlainHTTP) = (source, allowsPlainHTTP)
  }

  /// The state of the calls to the service of a connection, in one version.
  @EventLoop private final class Service {
    private let version: Int
    /// Another connection may have the same name later.
    private let created: [UInt8]
    let app: AppID
    let owner: CallOwner
    var metadata: FetchedDocument<ProviderMetadata>?
    /// The rule that the last discovery document breaks; nil for none.
    var fault: String?
    var keys: FetchedKeys?
    /// Opens after the failures of five networks in a row.
    var breaker = CallerCircuitBreaker(after: 5, pause: .seconds(30))

    init(_ connection: Connection) {
      (version, created) = (connection.version, connection.created)
      app = AppID(trusted: connection.app)
      owner = CallOwner(app: connection.app, receiver: "connection \(connection.key)")
    }

    func isOf(_ connection: Connection) -> Bool {
      version == connection.version && created == connection.created
    }
  }

  private func service(of connection: Connection) -> Service {
    let name = "\(connection.app) \(connection.key)"
    if let known = services[name], known.isOf(connection) { return known }
    let new = Service(connection)
    services[name] = new
    return new
  }

  /// Returns the service of a connection, with its endpoints.
  ///
  /// - Throws: `.connectionUnavailable` if its discovery document cannot be fetched, or if the
  ///   settings of the connection do not suffice.
  func provider(of connection: Connection) async throws(Failure) -> Provider {
    let settings = connection.settings(allowsPlainHTTP: allowsPlainHTTP)
    let preset = connection.preset
    do throws(OpenIDClientError) {
      var metadata: ProviderMetadata?
      if let url = try preset.discoveryURL(settings) {
        let service = service(of: connection)
        let document =
          service.metadata
          ?? FetchedDocument(
            at: url, of: connection.key, in: service.app, source,
            leastLifetime: Self.metadataLifetime
          ) { json in
            do throws(OpenIDClientError) {
              let read = try ProviderMetadata(json.serialized(), of: preset, settings)
              service.fault = nil
              return read
            } catch {
              service.fault = error.rule
              return nil
            }
          }
        service.metadata = document
        metadata = try await Self.value(of: document, service)
      }
      return try Provider(preset, settings, metadata)
    } catch {
      throw Self.unavailable(connection, error.rule)
    }
  }

  private static func value(
    of document: FetchedDocument<ProviderMetadata>, _ service: Service
  ) async throws(OpenIDClientError) -> ProviderMetadata {
    do throws(Failure) { return try await document.value() } catch {
      throw .invalidMetadata(rule: service.fault ?? error.report ?? error.type.title)
    }
  }

  private static func unavailable(_ connection: Connection, _ reason: String) -> Failure {
    .connectionUnavailable(
      retryAfter: .seconds(30), reason: "connection \(connection.key): \(reason)")
  }

  /// Sends a request to a service, unless it has just failed for several callers.
  ///
  /// - Throws: `.connectionUnavailable`, `.overloaded`.
  func send(
    _ call: HTTPCall, to connection: Connection, from caller: ClientAddress
  ) async throws(Failure) -> HTTPAnswer {
    let service = service(of: connection)
    let rest = service.breaker.rest()
    guard rest == .zero else {
      throw .connectionUnavailable(
        retryAfter: rest, reason: "connection \(connection.key): several calls have just failed")
    }
    let answer: HTTPAnswer
    do throws(FetchError) {
      answer = try await source.send(call, for: service.owner)
    } catch .overloaded {
      throw .overloaded(retryAfter: .seconds(1))
    } catch {
      service.breaker.fail(for: caller.site ?? caller.network)
      throw Self.unavailable(connection, "\(error)")
    }
    guard answer.status < 500 else {
      service.breaker.fail(for: caller.site ?? caller.network)
      throw Self.unavailable(connection, "its status is \(answer.status)")
    }
    service.breaker.succeed()
    return answer
  }

  /// Sends a request of the outbox to a service.
  ///
  /// Such requests have places of their own. They neither wait for the pause after failures, nor
  /// cause one.
  /// - Throws: `FetchError`.
  func sendFromOutbox(
    _ call: HTTPCall, to connection: Connection
  ) async throws(FetchError) -> HTTPAnswer {
    let owner = CallOwner(app: connection.app, receiver: "outbox of connection \(connection.key)")
    return try await source.send(call, for: owner)
  }

  /// Returns whether the key set of a service has a key that can verify.
  ///
  /// - Throws: `.connectionUnavailable`, `.overloaded`.
  func hasKeys(_ provider: Provider, of connection: Connection) async throws(Failure) -> Bool {
    guard let url = provider.keysURL else { return false }
    do throws(Failure) {
      return try await keys(at: url, of: connection).keys().isUsable
    } catch let error where error.is(.issuerUnavailable) {
      throw Self.unavailable(connection, error.report ?? "its keys cannot be fetched")
    }
  }

  private func keys(at url: String, of connection: Connection) -> FetchedKeys {
    let service = service(of: connection)
    if let known = service.keys, known.url.hasSameBytes(as: url) { return known }
    let new = FetchedKeys(at: url, of: connection.key, in: service.app, source)
    service.keys = new
    return new
  }

  /// Returns whether the keys of a service have signed a token; fetches newer keys if none has.
  ///
  /// - Throws: `.connectionUnavailable`, `.overloaded`.
  func hasSigned(
    _ token: SignedToken, _ provider: Provider, of connection: Connection,
    for network: [UInt8]
  ) async throws(Failure) -> Bool {
    guard let url = provider.keysURL else { return false }
    let keys = keys(at: url, of: connection)
    do throws(Failure) {
      if try await keys.keys().verify(token) { return true }
      return try await keys.haveNewer(for: token, from: network)
    } catch let error where error.is(.issuerUnavailable) {
      throw Self.unavailable(connection, "its keys cannot be fetched")
    }
  }
}

extension RequestContext {
  package var upstream: Upstream { dependencies[Upstream.self] }
}
