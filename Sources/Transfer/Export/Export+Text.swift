import Accounts
import JSON
import Runtime

extension Export {
  /// Returns the whole export as one JSON object; `picturePath` returns the path of a picture.
  package func text(picturePath: (String) -> String) -> [UInt8] {
    var pictures: [JSON] = []
    if let picture {
      pictures = [
        ["path": .string(picturePath(picture.name)), "created_at": .string(picture.createdAt.text)]
      ]
    }
    let start: JSON = [
      "profile": profile.json(picturePath: picturePath), "pictures": .array(pictures),
    ]
    return start.serialized().dropLast() + Array(",".utf8) + members + Array("}".utf8)
  }
}
