package import EventLoop
import HTTP
import JSON
import Runtime

/// The issuer of each app.
///
/// An app with host names has one issuer for each of them. The default app without host names has that
/// of the deployment. Requests find no other app without host names.
@EventLoop package final class ProviderAddress: DomainService {
  private let fallback: String

  /// - Parameter fallback: the scheme, host and port of the deployment.
  package init(fallback: String) { self.fallback = fallback }

  /// Returns the origin that names the app of a call.
  fileprivate func origin(of call: Call) -> String {
    guard let host = call.request.field(.host),
      call.context.app.hosts.contains(where: { $0.hasSameBytes(as: host) }),
      let asked = ServiceOrigin.asked(by: call)
    else { return fallback }
    return asked
  }
}

extension Call {
  /// The scheme, host and port of the app's issuer.
  package var issuerOrigin: String { context.dependencies[ProviderAddress.self].origin(of: self) }

  /// The `iss` of the app's tokens.
  package var issuer: String { issuerOrigin + "/" }
}
