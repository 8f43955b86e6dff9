package import Accounts
import Declarations
import Documents
import EventLoop
import HTTP
package import JSON
import Runtime
import Transfer
import WireKit

/// `/v1/me`.
@EventLoop enum ProfileResource {
  private nonisolated static let patchLimit = 16_384

  nonisolated static let operations: [Operation] =
    [
      Operation(
        .get, "/v1/me", access: .user(scope: Scopes.readUser), versions: .read,
        gives: [.ok(.profile)], summary: "Read the profile", read
      ),
      Operation(
        .patch,
        "/v1/me",
        access: .user(scope: Scopes.updateMetadata),
        takes: .body(.patch(limit: patchLimit), .profilePatch),
        versions: .write,
        gives: [.ok(.profile)],
        refuses: [.patchTestFailed, .patchNotApplicable],
        summary: "Change the profile",
        patch
      ),
      Operation(
        .delete, "/v1/me", access: .user(scope: Scopes.updateIdentities), takes: .query(.next),
        versions: .write, gives: [.noContent], summary: "Delete the user and all its data", delete
      ),
    ]
    + [BasePath.me, .users].map { base in
      Operation(
        .get, "\(base.prefix)/export", access: base.read,
        gives: [.ok(.object.shown(as: Example.export), "All data; the example is an excerpt.")],
        summary: "Export all data of the user as one JSON document"
      ) { (call) async throws(Failure) in
        var response = Response(.ok, json: try await Export.all(of: call.user, call.context).text)
        response.add(.contentDisposition, "attachment; filename=\"export.json\"")
        return response
      }.needing(.admin, stepUp: true)
    }

  /// The most frequent operation; inlined, since each `async` call costs 400 instructions.
  @inline(__always)
  static func read(_ call: Call) async throws(Failure) -> Response {
    let profile = try await Profiles.text(
      of: call.user, picturesAt: PicturePaths.uploaded, call.context
    )
    return Response(.ok, json: profile.json, tag: EntityTag(profile.version))
  }

  static func patch(_ call: Call) async throws(Failure) -> Response {
    let condition = try call.condition
    switch call.body {
    case .jsonPatch(let patch):
      let profile = try await Profiles.revise(if: condition, of: call.user, call.context) {
        (profile) throws(Failure) in
        let before = profile.json
        return difference(before, try Documents.patched(before, by: patch, limit: patchLimit))
      }
      return Response(.ok, profile)
    case .mergePatch(let patch, _), .json(let patch, _):
      guard let members = patch.object else {
        throw .invalid([FieldError("", "type", "The patch must be an object.")])
      }
      return Response(
        .ok, try await Profiles.change(members, if: condition, of: call.user, call.context)
      )
    case .none, .form, .multipart, .bytes: throw .internalError(reason: "a patch without a body")
    }
  }

  /// Returns the members that changed.
  ///
  /// A member that `after` lacks is null.
  private nonisolated static func difference(_ before: JSON, _ after: JSON) -> JSONObject {
    var members = JSONObject()
    for (name, value) in before.object ?? JSONObject() where after[name] != value {
      members[name] = after[name] ?? .null
    }
    for (name, value) in after.object ?? JSONObject() where before[name] == nil {
      members[name] = value
    }
    return members
  }

  static func delete(_ call: Call) async throws(Failure) -> Response {
    try await Users.delete(call.user, if: call.condition, next: call.next, call.context)
    return Response(.noContent)
  }
}

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
