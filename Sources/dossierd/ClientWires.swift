import AppServicesWire
import ManagementWire
import OpenIDWire
import ParraWire
import RESTWire
import WireKit

/// Returns the wires of all APIs.
///
/// The first one answers paths that belong to none.
///
/// `origin` is the deployment's own origin, as far as it is known.
func clientWires(origin: String = "http://localhost") -> [any Wire] {
  let openID = OpenIDWire(picturePath: RESTWire.path(ofPicture:))
  return [
    RESTWire(), AppServicesWire(origin: origin, picturePath: RESTWire.path(ofPicture:)),
    ParraWire(origin: origin, picturePath: RESTWire.path(ofPicture:)),
    openID, ManagementWire(pictureURL: openID.pictureURL(of:for:)),
  ]
}
