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
  [
    RESTWire(), AppServicesWire(origin: origin, picturePath: RESTWire.path(ofPicture:)),
    ParraWire(origin: origin, picturePath: RESTWire.path(ofPicture:)),
    OpenIDWire(picturePath: RESTWire.path(ofPicture:)),
    ManagementWire(
      picturePath: RESTWire.path(ofPicture:),
      avatarPath: OpenIDWire.path(ofAvatarOf:_:)
    ),
  ]
}
