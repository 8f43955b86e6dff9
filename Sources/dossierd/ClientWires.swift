import AppServicesWire
import RESTWire
import Wiring

/// The languages that clients may speak; the first answers those whose path is nobody's.
///
/// `origin` is where the deployment is, as far as it knows by itself.
func clientWires(origin: String = "http://localhost") -> [any Wire] {
  [RESTWire(), AppServicesWire(origin: origin, picturePath: RESTWire.path(ofPicture:))]
}
