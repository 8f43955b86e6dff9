import Imaging
package import Runtime
import EventLoop
import FoundationEssentials
import Encoding
import PictureContract
package import Postgres

/// The picture of a user.
package enum Pictures {
  /// A picture as it is sent to clients that have its URL.
  package struct Shown: Sendable {
    package let type: String
    package let bytes: [UInt8]
  }

  /// The greatest size of an upload, in bytes.
  package static let limit = PictureLimits.input

  /// Decodes a file, and stores it as the user's picture in place of the previous one.
  ///
  /// - Returns: the new profile.
  /// - Throws: an error of the file, after which the old picture stays; `.sessionEnded`,
  ///   `.tooManyRequests`, `.overloaded`, `.databaseUnavailable`.
  @EventLoop package static func set(
    _ file: [UInt8],
    of user: UserID,
    _ context: RequestContext
  ) async throws(Failure) -> Profile {
    // Checked before the work: the session may have ended.
    try await context.requireSession(of: user)
    let picture = try await context.pictures.decoder.decode(file, for: context.owner)
    let secret = Credential.salt().base64URL
    let suffix = picture.type == .jpeg ? "jpg" : "png"
    let name = "\(user)-\(secret)-\(picture.width)x\(picture.height).\(suffix)"
    let shelf = context.pictures.shelf
    let body = try await shelf.keep(picture.bytes, as: name)
    let replaced: String?
    do throws(Failure) {
      replaced = try await write(name, body, of: user, context)
    } catch {
      await shelf.forget(name)
      throw error
    }
    await shelf.forget(replaced)
    return try await Profiles.read(of: user, context)
  }

  /// Returns the width and height of a picture in pixels, which its name contains.
  package nonisolated static func size(of name: String) -> (width: Int, height: Int)? {
    let sides = name.split(separator: "-").last?.prefix { $0 != "." }.split(separator: "x")
      .compactMap { Int($0) }
    guard let sides, sides.count == 2 else { return nil }
    return (sides[0], sides[1])
  }

  /// Deletes the user's picture.
  ///
  /// - Throws: `.notFound` if the user has no picture, `.sessionEnded`, `.databaseUnavailable`.
  @EventLoop package static func remove(
    of user: UserID,
    _ context: RequestContext
  ) async throws(Failure) {
    guard let replaced = try await write(nil, nil, of: user, context) else { throw .notFound }
    await context.pictures.shelf.forget(replaced)
  }

  /// Replaces the picture, and returns the name of the previous one.
  @EventLoop private static func write(
    _ name: String?,
    _ body: BinaryBytes?,
    of user: UserID,
    _ context: RequestContext
  ) async throws(Failure) -> String? {
    let rows = try await context.write(
      PictureQueries.replace,
      user,
      context.principal,
      name,
      body,
      DataChange(of: "picture", context)
    )
    guard let row = rows.first else { throw context.gone }
    return row.name
  }

  /// Returns the picture with the name in a profile, to any client.
  ///
  /// - Throws: `.notFound`, also if pictures are in a folder that the web server serves;
  ///   `.overloaded`, `.databaseUnavailable`.
  @EventLoop package static func show(
    _ name: String,
    _ context: RequestContext
  ) async throws(Failure) -> Shown {
    guard let user = UserID(name.prefix(24)), name.utf8.count <= 64 else { throw .notFound }
    // On the lane for large results, so that pictures neither delay profiles nor wait for exports.
    let rows = try await context.fetch(PictureQueries.show, user, name)
    guard let body = rows.first else { throw .notFound }
    let type: PictureType = name.hasSuffix(".png") ? .png : .jpeg
    return Shown(type: type.rawValue, bytes: body.bytes)
  }
}

struct PictureBody: RowDecodable {
  let bytes: [UInt8]
  init(from row: Row) throws(DatabaseError) { bytes = try row.binary(0) }
}

package enum PictureQueries {
  /// Returns one row if the session is live.
  static let replace = Statement<
    ReplacedPicture, UserID, Principal, String?, BinaryBytes?, DataChange?
  >(
    "pictures.replace",
    """
    with c as (select user_id from users c where \(.isAuthorized)), old as (
      delete from pictures p using c where p.user_id = c.user_id returning p.name
    ), new as (
      insert into pictures (user_id, name, body)
      select c.user_id, $3::text, $4::bytea from c where $3::text is not null
    ), changed as (
      update users u set picture = $3::text, picture_url = null, version = u.version + 1,
        updated_at = now()
      from c where u.user_id = c.user_id and coalesce($3::text, u.picture, u.picture_url) is not null
      returning u.user_id, u.app_id
    )
    select (select min(name) from old), record_change(w.user_id, w.app_id, $5::jsonb)
    from c left join changed w on true
    """
  )

  static let show = Statement<PictureBody, UserID, String>(
    "pictures.show",
    "select body from pictures where user_id = $1 and name = $2 and body is not null"
  )

  package static let all: [any PreparedStatement] = [replace, show]
}
