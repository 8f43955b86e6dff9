import Imaging
import RateLimiting
package import Runtime
import EventLoop
import FoundationEssentials
import Encoding
import PictureContract
import Postgres

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
    _ file: [UInt8], of user: UserID, _ context: RequestContext
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
      if !error.leavesChangeUnknown { await shelf.forget(name) }
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

  /// Deletes the user's picture, if there is one.
  ///
  /// - Throws: `.sessionEnded`, `.notFound` without such a user, `.databaseUnavailable`.
  @EventLoop package static func remove(
    of user: UserID, _ context: RequestContext
  ) async throws(Failure) {
    let replaced = try await write(nil, nil, of: user, context)
    await context.pictures.shelf.forget(replaced)
  }

  /// Replaces the picture, and returns the name of the previous one.
  @EventLoop private static func write(
    _ name: String?, _ body: BinaryBytes?, of user: UserID, _ context: RequestContext
  ) async throws(Failure) -> String? {
    try await context.transaction { transaction async throws(Failure) in
      let changed = transaction.send(PictureQueries.change, user, context.principal, name)
      let removed = transaction.send(PictureQueries.remove, user)
      if let name { _ = transaction.send(PictureQueries.add, user, name, body) }
      guard try await !changed.rows().isEmpty else {
        // A user without a picture does not change; a session that has ended changes nothing.
        try await transaction.requireSession(of: user)
        return nil
      }
      let former = try await removed.rows().first
      let event = Event(changeOf: "picture", of: user, context)
      try await event?.recordChange(of: user, in: transaction)
      return former
    }
  }

  /// Returns the picture with the name in a profile, to any client.
  ///
  /// - Throws: `.notFound`, also if pictures are in a folder that the web server serves;
  ///   `.overloaded`, `.databaseUnavailable`.
  @EventLoop package static func show(
    _ name: String, _ context: RequestContext
  ) async throws(Failure) -> Shown {
    guard let user = UserID(name.prefix(24)), name.utf8.count <= 64 else { throw .notFound }
    // On the lane for large results, so that pictures neither delay profiles nor wait for exports.
    let rows = try await context.read(PictureQueries.show, user, name, on: .large)
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
  /// Returns no row if the session has ended, or if a user without a picture gets none.
  static let change = Statement<String, UserID, Principal, String?>(
    "pictures.change",
    """
    update users c set picture = $3::text, picture_url = null, version = c.version + 1,
      updated_at = now()
    where \(.isAuthorized) and coalesce($3::text, c.picture, c.picture_url) is not null
    returning c.user_id
    """)

  static let remove = Statement<String, UserID>(
    "pictures.remove", "delete from pictures where user_id = $1 returning name"
  )

  static let add = Statement<NoRow, UserID, String, BinaryBytes?>(
    "pictures.add", "insert into pictures (user_id, name, body) values ($1, $2, $3::bytea)"
  )

  static let show = Statement<PictureBody, UserID, String>(
    "pictures.show",
    "select body from pictures where user_id = $1 and name = $2 and body is not null"
  )
}
