package import EventLoop
import HTTP
import JSON
package import Runtime

/// The address of this server, and the issuer of each app.
///
/// An app with host names has one issuer for each of them. The default app without host names has that
/// of the deployment. Requests find no other app without host names.
@EventLoop package final class ServiceAddress: DomainService {
  /// The origin for web servers that do not send the origin of the request.
  let fallback: String

  /// - Parameter fallback: the scheme, host and port of the deployment.
  package init(fallback: String) { self.fallback = fallback }

  /// Returns why a text cannot be the identifier of an API of an app; nil if it can.
  ///
  /// Each app has its Management API and that of `/v1`, and each token is for `/userinfo`. Operators
  /// may name the URL of the server without a slash, as they did before each app had the API of `/v1`.
  fileprivate func fault(inIdentifier text: String, of app: App) -> FieldError? {
    let origins = [fallback] + app.hosts.flatMap { ["https://\($0)", "http://\($0)"] }
    let own = origins.flatMap { ["\($0)/", "\($0)/userinfo", "\($0)/api/v2", "\($0)/api/v2/"] }
    guard own.contains(where: { $0.hasSameBytes(as: text) }) else { return nil }
    return FieldError(
      "/identifier", "own_address", "The identifier must not be an address of this server."
    )
  }

  /// Returns the origin that names the app of a call.
  fileprivate func origin(of call: Call) -> String {
    guard let host = call.request.field(.host),
      call.context.app.hosts.contains(where: { $0.hasSameBytes(as: host) }),
      let asked = call.askedOrigin
    else { return fallback }
    // The client chooses the port of its `Host` field.
    let (origin, port) = Self.parts(of: asked)
    let own = Self.parts(of: fallback).port
    return port.isEmpty || port.utf8.elementsEqual(own.utf8) ? asked : origin + own
  }

  /// Splits an origin before the colon of its port; the port is empty if it has none.
  private static func parts(of origin: String) -> (origin: String, port: String) {
    let digits = origin.utf8.reversed().prefix {
      (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0)
    }
    let rest = origin.utf8.dropLast(digits.count)
    guard rest.last == UInt8(ascii: ":") else { return (origin, "") }
    return (
      String(Substring(rest.dropLast())), ":" + String(decoding: digits.reversed(), as: UTF8.self)
    )
  }
}

extension Call {
  /// The scheme, host and port of the app's issuer.
  package var issuerOrigin: String { context.dependencies[ServiceAddress.self].origin(of: self) }

  /// The `iss` of the app's tokens.
  package var issuer: String { issuerOrigin + "/" }
}

extension RequestContext {
  /// Checks the identifier of a new API of an app.
  ///
  /// - Throws: `.invalid` if it is an address of this server.
  @EventLoop package func checkIdentifier(_ text: String, of app: App) throws(Failure) {
    let fault = dependencies[ServiceAddress.self].fault(inIdentifier: text, of: app)
    if let fault { throw .invalid([fault]) }
  }
}
