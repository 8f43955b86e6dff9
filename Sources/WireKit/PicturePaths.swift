package import Accounts
import Encoding
import EventLoop
package import Runtime

/// The paths of users' pictures.
package enum PicturePaths {
  /// The folder of the pictures that users have uploaded.
  package static let uploaded = "/v1/pictures/"
  /// The folder of generated pictures.
  package static let generated = "/u/avatar/"

  package static func path(_ name: String) -> String { uploaded + name }

  /// Returns the URL of a user's picture, here or elsewhere, or of a generated one.
  package static func url(of profile: Profile, at origin: String, _ master: MasterKey) -> String {
    let generated = AvatarName(of: profile.id, master).text
    let path = profile.picture.map(path) ?? self.generated + generated
    return profile.pictureURL ?? origin + path
  }
}

/// The name of a generated picture: bytes that reveal nothing of its user.
package struct AvatarName {
  package let bytes: [UInt8]
  private static let length = 16
  private static let suffix = ".png"

  /// Names the picture of a user by a keyed hash of the user's id.
  package init(of user: UserID, _ master: MasterKey) {
    bytes = Array(master.mark(of: Array("avatar \(user)".utf8), by: 0).prefix(Self.length))
  }

  /// Reads the name of a picture; nil if it is malformed.
  package init?(_ text: String) {
    guard text.utf8.reversed().starts(with: Self.suffix.utf8.reversed()),
      let bytes = [UInt8](base64URL: Substring(text.utf8.dropLast(Self.suffix.utf8.count))),
      bytes.count == Self.length
    else { return nil }
    self.bytes = bytes
  }

  package var text: String { bytes.base64URL + Self.suffix }
}

extension Call {
  /// Returns the URL of a user's picture, or of a generated one, at the issuer of the app.
  package func pictureURL(of profile: Profile) -> String {
    PicturePaths.url(of: profile, at: issuerOrigin, context.keys.master)
  }
}
