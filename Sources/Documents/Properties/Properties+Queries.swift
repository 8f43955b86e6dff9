import Runtime
import JSON
package import Postgres

/// A property; nil in a row without one.
struct PropertyRow: RowDecodable {
  let property: Property?

  init(from row: Row) throws(DatabaseError) {
    guard !row.isNull(0) else {
      property = nil
      return
    }
    property = Property(key: try row.text(0), value: try row.json(1), version: try row.int(2))
  }
}

package enum PropertyQueries {
  /// Returns at least one row if the session is live.
  ///
  /// Served by the primary key.
  static let read = Statement<PropertyRow, UserID, Principal>(
    "properties.read",
    """
    select p.key, p.value, p.version
    from users c left join properties p on p.user_id = $1
    where \(.isAuthorized) order by p.key
    """)

  /// Locks the user's properties; returns no row if the session has ended.
  static let lock = Statement<Int, UserID, Principal>(
    "properties.lock",
    """
    select c.property_version_floor from users c where \(.isAuthorized) for no key update of c
    """)

  /// Locks the properties of an anonymous user, as `lock`; returns no row for any other user.
  static let lockAnonymous = Statement<Int, UserID, Principal>(
    "properties.lock_anonymous",
    """
    select c.property_version_floor from users c where c.anonymous and \(.isAuthorized)
    for no key update of c
    """)

  static let stored = Statement<PropertyRow, UserID>(
    "properties.stored", "select key, value, version from properties where user_id = $1"
  )

  /// Deletes keys.
  ///
  /// - Parameter 3: the floor after the deletion.
  static let remove = Statement<NoRow, UserID, TextArray, Int>(
    "properties.remove",
    """
    with removed as (delete from properties where user_id = $1 and key = any ($2::text[]))
    update users set property_version_floor = $3::bigint where user_id = $1 and property_version_floor <> $3::bigint
    """)

  /// Writes keys with their new versions.
  static let write = Statement<NoRow, UserID, TextBytes>(
    "properties.write",
    """
    insert into properties (user_id, key, value, version)
    select u.user_id, w.key, w.value, w.version
    from users u
    cross join jsonb_to_recordset($2::jsonb) as w (key text, value text, version bigint)
    where u.user_id = $1
    on conflict (user_id, key) do update
    set value = excluded.value, version = excluded.version, updated_at = excluded.updated_at
    """)

  package static let all: [any PreparedStatement] = [
    read, lock, lockAnonymous, stored, remove, write,
  ]
}
