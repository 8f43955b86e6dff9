import EventLoop
import JSON
package import Postgres
package import Runtime
import Records

/// The APIs that each app has from its creation.
///
/// Their audiences depend on the issuer, which follows the host name. So the stored identifier is
/// relative to the issuer.
package enum ProvidedAPI: String, CaseIterable, Sendable {
  /// The API by which Auth0's clients manage users.
  case management = "api/v2/"
  /// The API of the app's `/v1`, by which users read and change their data.
  case userData = "/"
  /// The API by which Auth0's clients manage the passkeys of their user.
  ///
  /// The program declares it, so no table has it, and no operator changes it.
  case account = "me/"

  package init?(identifier: String) {
    guard let found = Self.allCases.first(where: { identifier.hasSameBytes(as: $0.rawValue) })
    else { return nil }
    self = found
  }

  package func audience(at issuer: String) -> String {
    switch self {
    case .management, .account: issuer + rawValue
    case .userData: issuer
    }
  }

  /// Returns whether an audience is that of this API.
  ///
  /// The issuer ends with a slash. Without it, it means the same.
  package func isNamed(by audience: String, at issuer: String) -> Bool {
    audience.hasSameBytes(as: self.audience(at: issuer))
      || self == .userData && audience.hasSameBytes(as: String(issuer.dropLast()))
  }

  /// Returns the stored identifier of an audience.
  ///
  /// - Parameters:
  ///   - audience: the audience, as a client names it.
  ///   - issuer: the issuer of the app.
  /// - Returns: the identifier.
  package static func identifier(of audience: String, at issuer: String) -> String {
    allCases.first { $0.isNamed(by: audience, at: issuer) }?.rawValue ?? audience
  }

  /// Returns the audience of a stored identifier.
  package static func audience(of stored: String, at issuer: String) -> String {
    ProvidedAPI(identifier: stored)?.audience(at: issuer) ?? stored
  }

  /// Returns whether a client may get a scope for a user; the others are for back ends.
  package func isOfUser(_ scope: String) -> Bool {
    switch self {
    case .management: Scopes.ofUser.contains(where: scope.hasSameBytes)
    case .userData, .account: true
    }
  }
}

extension ResourceServer {
  /// Which API of each app it is; nil for one that an operator has created.
  package var provided: ProvidedAPI? { ProvidedAPI(identifier: record.identifier) }

  package func has(scope: String) -> Bool {
    record.scopes.contains { $0.name.hasSameBytes(as: scope) }
  }

  /// Returns whether a client may get a scope for a user.
  package func grants(toUsers scope: String) -> Bool {
    has(scope: scope) && provided?.isOfUser(scope) != false
  }
}

/// The API of an app's `/v1`, which is read together with the apps, since most tokens are for it.
package struct UserDataAPI: AppPart {
  let server: ResourceServer

  package static func load(
    _ database: Database, _ known: [AppID: UserDataAPI]
  ) async throws(DatabaseError) -> [AppID: UserDataAPI] {
    let servers = try await database.read(UserDataAPIQueries.all, ProvidedAPI.userData.rawValue)
    let parts = servers.map { (AppID(trusted: $0.app), UserDataAPI(server: $0)) }
    return Dictionary(parts) { first, _ in first }
  }
}

extension App {
  /// Returns the API with an identifier of an app, if it is this app and needs no read.
  func provided(_ identifier: String, of app: AppID) -> ResourceServer? {
    guard app == id else { return nil }
    return switch ProvidedAPI(identifier: identifier) {
    case .userData: part(UserDataAPI.self)?.server
    case .account: AccountAPI.server(of: id)
    case .management, nil: nil
    }
  }
}

/// The API "My Account" of Auth0, which is the same in all apps.
package enum AccountAPI {
  package static let readMethods = "read:me:authentication_methods"
  package static let createMethods = "create:me:authentication_methods"
  package static let updateMethods = "update:me:authentication_methods"
  package static let deleteMethods = "delete:me:authentication_methods"
  package static let readFactors = "read:me:factors"

  static func server(of app: AppID) -> ResourceServer {
    let scopes: JSON = [
      readMethods: "See your passkeys", createMethods: "Add a passkey that signs in as you",
      updateMethods: "Rename your passkeys", deleteMethods: "Remove your passkeys",
      readFactors: "See in which ways you can sign in",
    ]
    let members = JSONObject([
      ("identifier", .string(ProvidedAPI.account.rawValue)), ("name", "Your passkeys"),
      ("scopes", scopes), ("allows_offline_access", true),
    ])
    return ResourceServer(declared: members, key: "", of: app.text)
  }
}

package enum UserDataAPIQueries {
  /// Returns the APIs of all apps with an identifier.
  static let all = Statement<ResourceServer, String>(
    "user_data_api.all",
    """
    select \(ResourceServerRecord.table.columns), '' from resource_servers r
    where r.identifier = $1
    """)
}

extension Failure {
  package static let providedAPI = Failure("provided_api", .conflict)
    .titled("Each app has this API, which cannot be deleted.")
    .remedied("Create an API of your own, and delete that one.")
}
