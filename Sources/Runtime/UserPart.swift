package import EventLoop
package import JSON
package import Postgres
package import Records

/// A part of what the service knows about a user.
package enum UserPart: String, CaseIterable, Sendable {
  case profile, metadata
  case appMetadata = "app_metadata"
  case customData = "custom_data"
  case properties, sessions, devices, identities, factors
  case apiKeys = "api_keys"
  case consents

  /// Whether its number is a version, and no hash.
  package var hasVersion: Bool {
    switch self {
    case .profile, .metadata, .appMetadata, .customData: true
    case .properties, .sessions, .devices, .identities, .factors, .apiKeys, .consents: false
    }
  }

  /// The parts with a version, in the order of `SQL.versions`.
  fileprivate static let withVersion = allCases.filter(\.hasVersion)
}

/// A section of settings that hides parts of users from the users.
package protocol HidingParts: RecordPart {
  var hiddenParts: [UserPart] { get }
}

/// The versions of those parts of a user that have one.
package struct UserVersions: Sendable {
  private let versions: [(part: UserPart, version: Int)]

  /// Reads the columns of `SQL.versions`; nil if their condition did not hold.
  @EventLoop package init?(from row: Row, at column: Int) throws(DatabaseError) {
    guard !row.isNull(column) else { return nil }
    var versions: [(UserPart, Int)] = []
    for (index, part) in UserPart.withVersion.enumerated() {
      // A deleted document has its version with a minus.
      versions.append((part, max(0, try row.int(column + index))))
    }
    self.versions = versions
  }

  /// Returns the claim `ver` of a token, without parts that users of the app may not see.
  package func claim(in app: App) -> JSON {
    let shown = versions.filter { !app.settings.hiddenParts.contains($0.part) }
    return .object(
      JSONObject(shown.map { ($0.part.rawValue, .number(JSONNumber($0.version))) }))
  }
}

extension SQL {
  /// The versions of the profile, the metadata, the app metadata and the custom data of the user `c`.
  ///
  /// A deleted document has its version with a minus. Served by the primary keys.
  /// - Parameters:
  ///   - user: the id of the user.
  ///   - condition: whether to read them; they are null if not.
  /// - Returns: the columns.
  package static func versions(of user: SQL, if condition: SQL = "true") -> SQL {
    """
    case when \(condition) then c.version end,
      case when \(condition) then \(version(of: "metadata", user)) end,
      case when \(condition) then \(version(of: "app_metadata", user)) end,
      case when \(condition) then \(version(of: "custom_data", user)) end
    """
  }

  /// The version of a document of a user; 0 before the first write.
  private static func version(of kind: SQL, _ user: SQL) -> SQL {
    """
    coalesce((
      select case when deleted_at is null then version else -version end
      from documents where user_id = \(user) and kind = '\(kind)'), 0)
    """
  }
}
