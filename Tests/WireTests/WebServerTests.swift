import AppServicesWire
import ConsoleWire
import FoundationEssentials
import ManagementWire
import OpenIDWire
import ParraWire
import RESTWire
import Runtime
import Testing
import WireKit

/// Compares the nginx files with the declarations of the wires.
@Suite struct WebServerTests {
  private static let folder =
    #filePath.split(separator: "/").dropLast(3).map { "/\($0)" }.joined()
    + "/deploy/nginx"

  @Test func `the shipped files equal the output of dossierd`() throws {
    let wires: [any Wire] = [
      RESTWire(), AppServicesWire(), ParraWire(), OpenIDWire(), ManagementWire(), ConsoleWire(),
    ]
    for (name, text) in [
      ("dossier.fastcgi_params", WebServer.parameters(of: wires)),
      ("dossier.body_limits", WebServer.bodyLimits(of: wires)),
    ] {
      let shipped = try String(contentsOfFile: "\(Self.folder)/\(name)", encoding: .utf8)
      #expect(shipped == text, "\(name)")
    }
  }

  @Test func `responses report the limit that nginx has`() throws {
    let limit = try #require(ManagementWire().requestLimit)
    let text = try String(contentsOfFile: "\(Self.folder)/dossier.conf", encoding: .utf8)
    let rate = limit.quota / Int(limit.window.components.seconds)
    for line in [
      "limit_req_zone $dossier_network zone=dossier_networks:10m rate=\(rate)r/s;",
      "limit_req zone=dossier_networks burst=\(limit.quota) nodelay;",
    ] {
      #expect(text.contains(line), "\(line)")
    }
  }
}
