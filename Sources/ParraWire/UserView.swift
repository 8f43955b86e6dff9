import Accounts
import Documents
import Encoding
import EventLoop
import HTTP
import JSON
import Permissions
import Records
import Runtime
import Tenancy
import WireKit

/// The user in the form that the SDK reads.
@EventLoop enum UserView {
  /// The reads of what a user has beside profile and properties.
  @EventLoop struct Reads {
    fileprivate let identities: BatchRead<[IdentityInfo]>
    fileprivate let roles: BatchRead<[Role]>
    fileprivate let metadata: (@EventLoop (BatchResults) async throws(Failure) -> StoredDocument)?

    init(of user: UserID, in batch: inout ReadBatch, _ context: RequestContext) throws(Failure) {
      identities = Identities.addList(of: user, to: &batch, context)
      roles = UserRoles.addList(of: user, to: &batch)
      metadata =
        context.app.documentSettings.isAppMetadataReadable
        ? try Documents.addRead(.appMetadata, of: user, to: &batch, context) : nil
    }
  }

  /// Returns a user with properties, metadata and identities.
  static func user(_ user: UserID, _ call: Call) async throws(Failure) -> JSON {
    let context = call.context
    var batch = ReadBatch()
    let readProfile = Profiles.addRead(of: user, to: &batch, context)
    let readProperties = Properties.addRead(of: user, to: &batch, context)
    let reads = try Reads(of: user, in: &batch, context)
    let results = try await context.read(batch)
    return try await self.user(
      readProfile(results), readProperties(results), reads, results, call
    )
  }

  /// Returns the same from a profile, properties, and the results of `reads`.
  static func user(
    _ profile: Profile, _ properties: [Property], _ reads: Reads, _ results: BatchResults,
    _ call: Call
  ) async throws(Failure) -> JSON {
    let context = call.context
    let identities = try reads.identities(results)
    var json = names(of: profile, in: context.app)
    json["avatar"] = avatar(of: profile, call)
    json["is_anonymous"] = .bool(profile.isAnonymous)
    json["has_password"] = .bool(identities.contains { $0.provider == .password })
    json["identities"] = .array(identities.map { identity($0, of: profile) })
    json["properties"] = .object(properties.values)
    json["metadata"] =
      if let metadata = reads.metadata {
        try Documents.parsed(await metadata(results).body)
      } else {
        [:]
      }
    json["settings"] = [:]
    json["entitlements"] = []
    json["roles"] = .array(try reads.roles(results).map(\.parraJSON))
    return .object(json)
  }

  /// Returns the picture, which any client that has its URL may read; null without one.
  static func avatar(of profile: Profile, _ call: Call) -> JSON {
    guard let name = profile.picture, let size = Pictures.size(of: name) else { return .null }
    return [
      "id": .string(name), "url": .string(call.origin + PicturePaths.path(name)),
      "size": [
        "width": .number(JSONNumber(size.width)), "height": .number(JSONNumber(size.height)),
      ],
    ]
  }

  /// Returns the user, and the keys of the user's roles.
  static func info(_ call: Call) async throws(Failure) -> Response {
    let user = try await user(call.user, call)
    let keys = user["roles"]?.array?.compactMap { $0["key"] } ?? []
    let body: JSON = ["roles": .array(keys), "user": user]
    return Response(.ok, json: body.serialized())
  }

  private static func names(of profile: Profile, in app: App) -> JSONObject {
    let id = UserUUID(profile.id).text
    var json = JSONObject()
    json["id"] = .string(id)
    json["tenant_id"] = .string(app.name)
    json["created_at"] = .string(profile.createdAt.milliseconds)
    json["updated_at"] = .string(profile.updatedAt.milliseconds)
    let full = [profile.givenName, profile.familyName].compactMap(\.self).joined(separator: " ")
    let shown =
      profile.name ?? (full.isEmpty ? nil : full) ?? profile.nickname ?? profile.email
      ?? "User \(id.suffix(6))"
    json["display_name"] = .string(shown)
    let members = [
      ("name", profile.name), ("first_name", profile.givenName), ("last_name", profile.familyName),
      ("identity", profile.email), ("email", profile.email), ("phone_number", profile.phone),
      ("locale", profile.locale),
    ]
    for (name, value) in members { json[name] = value.map(JSON.string) ?? .null }
    json["email_verified"] = .bool(profile.isEmailVerified)
    return json
  }

  private static func identity(_ identity: IdentityInfo, of profile: Profile) -> JSON {
    var json = JSONObject()
    json["id"] = .string(identity.id.text)
    json["created_at"] = .string(identity.createdAt.milliseconds)
    json["updated_at"] = .string(identity.createdAt.milliseconds)
    json["provider"] = .string(identity.provider.text)
    switch identity.provider {
    case .password, .email:
      json["type"] = "email"
      if let email = profile.email { json["email"] = .string(email) }
      json["email_verified"] = .bool(identity.isVerified)
      json["has_password"] = .bool(identity.provider == .password)
    case .linkedPassword:
      json["type"] = "email"
      json["email"] = .string(identity.subject)
      json["email_verified"] = true
      json["has_password"] = true
    case .anonymous: json["type"] = "anonymous"
    case .apiKey, .passkey, .issuer:
      json["type"] = "external_id"
      json["external_id"] = .string(identity.subject)
    }
    return .object(json)
  }
}

extension Role {
  /// The role as the SDK reads it; its name is also its key.
  fileprivate var parraJSON: JSON {
    ["id": .string(key), "name": .string(self.name), "key": .string(self.name)]
  }
}

/// The id of a user as a UUID, which the SDK expects.
///
/// The 12 bytes of the id are its custom bits, so no table is needed to find the user.
/// - Source: RFC 9562 section 5.8, version 8.
struct UserUUID {
  private let bytes: [UInt8]

  /// The version, the variant and the unused bits, between the halves of the id.
  private static let middle: [UInt8] = [0x80, 0, 0x80, 0]

  init(_ user: UserID) {
    let id = user.bytes
    bytes = id.prefix(6) + Self.middle + id.dropFirst(6)
  }

  var text: String {
    let digits = Array(String(hexadecimal: bytes).utf8)
    let groups = [0..<8, 8..<12, 12..<16, 16..<20, 20..<32]
    return groups.map { String(decoding: digits[$0], as: UTF8.self) }.joined(separator: "-")
  }

  /// Returns the user of a text; nil unless it is such a UUID.
  static func user(_ text: String) -> UserID? {
    guard text.utf8.count == 36,
      let bytes = [UInt8](hexadecimal: text.utf8.filter { $0 != UInt8(ascii: "-") }),
      bytes.count == 16, bytes[6..<10].elementsEqual(middle)
    else { return nil }
    let user = UserID(bytes: bytes[..<6] + bytes[10...])
    return UserUUID(user).text == text.lowercased() ? user : nil
  }
}
