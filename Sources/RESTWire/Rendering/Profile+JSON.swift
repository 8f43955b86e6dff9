package import Accounts
import WireKit
import Runtime
import HTTP
package import JSON

extension Profile {
  package var json: JSON { json(picturePath: PicturePaths.path) }
}

extension Response {
  /// Returns a response with a changed profile.
  init(_ status: Status, _ profile: Profile) {
    self.init(status, json: profile.json.serialized(), tag: EntityTag(profile.version))
  }

  /// Returns a response with a whole list, without pages.
  init<Item>(_ status: Status, list items: [Item], _ render: (Item) -> JSON) {
    self.init(status, json: JSON.array(items.map(render)).serialized())
  }
}
