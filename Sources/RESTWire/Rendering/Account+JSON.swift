import WireKit
import Accounts
import JSON
import Representations
import Runtime
import Sessions
package import Transfer

// JSON with paths of this API.

extension DeviceUser {
  var json: JSON {
    [
      "user_id": .string(user.text), "activated_at": .string(activatedAt.text),
      "state": .string(state.name), "anonymous": .bool(isAnonymous), "name": JSON(name),
      "nickname": JSON(nickname), "picture": JSON(picture.map(PicturePaths.path)),
      "email": JSON(email),
    ]
  }
}

extension DeviceUser.State {
  fileprivate var name: String {
    switch self {
    case .active: "active"
    case .inactive: "inactive"
    case .loggedOut: "logged_out"
    }
  }
}

extension Export {
  /// Returns the whole export as one JSON object.
  package var text: [UInt8] { text(picturePath: PicturePaths.path) }
}
