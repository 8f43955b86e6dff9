import Encoding
package import EventLoop
import HTTP
import JSON
package import Outbound
import RESTWire
package import Runtime
package import WireKit

/// The console of a process: where it is served, and the API that its pages call.
@EventLoop package final class Console: DomainService {
  private let isOn: Bool
  private let host: String?
  private let networks: [IPNetwork]
  private var service: Service?

  /// - Parameters:
  ///   - isOn: whether the console is served at all.
  ///   - host: the only host that serves it; nil for every host.
  ///   - networks: the networks that may use it; empty for all.
  package init(isOn: Bool, host: String?, networks: [IPNetwork]) {
    (self.isOn, self.host, self.networks) = (isOn, host, networks)
  }

  /// Returns the service with the routes of `/v1`.
  package func service(_ dependencies: Dependencies) -> Service {
    if let service { return service }
    let service = Service(wires: [RESTWire()], dependencies)
    self.service = service
    return service
  }

  /// Returns whether the console is served to a request.
  package func isOpen(to call: Call) -> Bool {
    guard isOn else { return false }
    if let host, call.request.field(.host)?.hasSameBytes(as: host) != true { return false }
    return networks.isEmpty || call.context.address.isIn(networks)
  }
}
