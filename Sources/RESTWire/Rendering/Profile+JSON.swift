package import Accounts
import Documents
import Runtime
import HTTP
package import JSON
import Postgres

extension Profile {
  package var json: JSON { json(picturePath: PictureResource.path) }
}

extension ProfileResource {
  /// The SQL expression for the response of `GET /v1/me`, the most frequent request.
  ///
  /// The database makes the text, and the worker passes it on. A test compares it with
  /// `Profile.json`.
  nonisolated static let form = Statement<StoredDocument, UserID, Principal>(
    "rest.profile",
    """
    select json_build_object(
      'id', c.user_id, 'created_at', c.created_at, 'updated_at', c.updated_at,
      'version', c.version, 'anonymous', c.anonymous, 'blocked', c.blocked_at is not null,
      'email', c.email, 'email_verified', c.email_verified, 'name', c.name,
      'given_name', c.given_name, 'family_name', c.family_name, 'nickname', c.nickname,
      'phone', c.phone, 'locale', c.locale, 'zone', c.zone,
      'picture', '/v1/pictures/' || c.picture)::text, c.version
    from users c where \(.isAuthorized)
    """
  )
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
