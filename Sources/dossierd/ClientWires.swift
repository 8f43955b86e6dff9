import AppServicesWire
import ManagementWire
import OpenIDWire
import ParraWire
import RESTWire
import WireKit

/// The wires of all APIs.
///
/// The first one answers paths that belong to none.
let clientWires: [any Wire] = [
  RESTWire(), AppServicesWire(), ParraWire(), OpenIDWire(), ManagementWire(),
]
