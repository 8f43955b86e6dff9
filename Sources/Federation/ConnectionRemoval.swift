import Encoding
import EventLoop
import JSON
import OpenIDClient
import Postgres
import Records
package import Runtime
import Tenancy

extension ConnectionRecord {
  /// The greatest number of users that a refusal tells.
  fileprivate static let mostCounted = 1_000

  /// Deletes a connection, unless users have no other way to sign in.
  ///
  /// - Throws: `.connectionInUse` with their number, `.notFound`, `.databaseUnavailable`.
  @EventLoop package static func deleteIfUnused(
    _ key: String, of app: AppID?, _ context: RequestContext
  ) async throws(Failure) {
    let connection = try await table.find(key, of: app, context)
    let users = try await context.read(
      ConnectionQueries.dependents, AppID(trusted: connection.app), connection.providerPattern,
      mostCounted + 1, on: .search)
    if let users = users.first, users > 0 {
      let number = users > mostCounted ? "more than \(mostCounted)" : "\(users)"
      throw .connectionInUse(
        "\(number) users can sign in only by this connection. \(Failure.connectionInUse.explanation)",
        members: [("users", .number(JSONNumber(min(users, mostCounted))))])
    }
    try await delete(key, of: app, context)
  }
}

extension Stored<ConnectionRecord> {
  /// The pattern of the providers of its identities, for `like`.
  fileprivate var providerPattern: String {
    let issuer = record.issuer ?? record.preset.issuer ?? ""
    var pattern = "jwt:"
    for character in issuer {
      if "%_\\".contains(character) { pattern.append("\\") }
      pattern.append(character)
    }
    return record.preset.hasTenants
      ? pattern.replacing(ProviderPreset.tenantPlaceholder, with: "%") : pattern
  }
}

package enum ConnectionQueries {
  /// Counts the users who have identities of some providers, and no others.
  ///
  /// Asks all shards, once; rare.
  /// - Parameter 2: the pattern of the providers.
  /// - Parameter 3: the greatest number that it counts to.
  static let dependents = Statement<Int, AppID, String, Int>(
    "connections.dependents",
    """
    select count(*) from (
      select distinct i.user_id from identities i
      where i.app_id = $1 and i.provider like $2 and not exists (
        select 1 from identities o
        where o.user_id = i.user_id and o.provider <> 'anonymous' and o.provider not like $2)
      limit $3) found
    """)
}
