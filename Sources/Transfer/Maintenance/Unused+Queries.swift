package import Postgres
import Runtime

/// A page of anonymous users: its last user, and the ids of the unused users.
struct UnusedUsers: RowDecodable {
  let app: String
  package let user: String
  /// User ids, separated by spaces.
  let unused: String

  /// The position before the first page.
  init() {
    app = ""
    user = ""
    unused = ""
  }

  init(from row: Row) throws(DatabaseError) {
    app = try row.text(0)
    user = try row.text(1)
    unused = try row.text(2)
  }
}

/// A device, with its users as the database prints them, or nil if it was used in the last day.
struct OldDevice: RowDecodable {
  let device: String
  let list: String?

  init(from row: Row) throws(DatabaseError) {
    device = try row.text(0)
    list = row.text(ifAny: 1)
  }
}

struct RemovedUser: RowDecodable {
  let user: UserID
  let app: AppID

  init(from row: Row) throws(DatabaseError) {
    user = try row.id(0)
    app = try row.id(1)
  }
}

package enum UnusedQueries {
  /// Returns the page after that user of that app; no row after the last user.
  ///
  /// Served by `users_anonymous`.
  static let users = Statement<UnusedUsers, String, String>(
    "unused.users",
    """
    with page as (
      select app_id, user_id from users
      where anonymous and (app_id, user_id) > ($1::text, $2::text)
      order by app_id, user_id limit 500
    )
    select (array_agg(p.app_id::text order by p.app_id desc, p.user_id desc))[1],
      (array_agg(p.user_id::text order by p.app_id desc, p.user_id desc))[1],
      coalesce(string_agg(p.user_id, ' ') filter (
        where (select true from unused_users u where u.user_id = p.user_id)), '')
    from page p
    having count(*) > 0
    """
  )

  /// Locks users: every write for a user also locks its row, and waits.
  static let lock = Statement<String, String>(
    "unused.lock",
    """
    select user_id from users where user_id = any (string_to_array($1, ' '))
    order by user_id for update
    """
  )

  /// Deletes the users that are still unused, and returns them.
  ///
  /// One statement deletes up to 500 users, where `Users.remove` takes two for each.
  static let removeUsers = Statement<RemovedUser, String>(
    "unused.remove_users",
    """
    with old as (
      select u.user_id
      from unnest(string_to_array($1, ' ')) as i (id)
      -- Each user by its key, for any statistics.
      cross join lateral (
        select user_id from unused_users where user_id = i.id offset 0) u
    ), subjects as (
      delete from identity_subjects i using old o where i.user_id = o.user_id
    ), answers as (
      delete from idempotency_keys k using old o where k.owner = o.user_id
    )
    delete from users u using old o where u.user_id = o.user_id returning u.user_id, u.app_id
    """
  )

  /// Returns the page after that device.
  static let devices = Statement<OldDevice, String>(
    "unused.devices",
    """
    select device_id, case when last_seen_at < now() - interval '1 day' then user_ids end
    from devices where device_id > $1::text order by device_id limit 1000
    """
  )

  /// Returns those of the devices `$2` on which the users `$1` have accounts, each user on the
  /// device at the same place.
  ///
  /// It asks all nodes of a distributed database once, where one read for each user would ask one
  /// node a thousand times.
  static let deviceAccounts = Statement<String, String, String>(
    "unused.device_accounts",
    """
    select p.device_id from unnest($1::text[], $2::text[]) i (user_id, device_id)
    join device_accounts p on p.user_id = i.user_id and p.device_id = i.device_id
    """
  )

  /// Deletes a device, unless it was used meanwhile.
  ///
  /// The secret of a deleted device remains valid, since its MAC proves that this server issued it.
  static let removeDevice = Statement<String, String, String>(
    "unused.remove_device",
    """
    delete from devices where device_id = $1 and user_ids = $2::text[]
      and last_seen_at < now() - interval '1 day'
    returning device_id
    """
  )

  package static let all: [any PreparedStatement] = [
    users, lock, removeUsers, devices, deviceAccounts, removeDevice,
  ]
}
