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
      'id', p.id, 'created_at', p.created_at, 'updated_at', p.updated_at, 'version', p.version,
      'anonymous', p.anonymous, 'blocked', p.blocked, 'email', p.email,
      'email_verified', p.email_verified, 'name', p.name, 'given_name', p.given_name,
      'family_name', p.family_name, 'nickname', p.nickname, 'phone', p.phone,
      'locale', p.locale, 'zone', p.zone, 'picture', '/v1/pictures/' || p.picture)::text, p.version
    from caller($1, $2) c cross join lateral profile_of(c) p
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
