import AppServicesWire
import Documents
import EventLoop
import JSON
import Postgres
import Runtime
import Tenancy
import Transfer

extension ImportRequest {
  /// Returns a reader of foreign lines, or nil for Dossier's own format.
  ///
  /// - Throws: an error if the file of hashes cannot be read, or of the database.
  /// - Returns: also the digest of a second file that the reader joins.
  @EventLoop func foreignReader(
    for app: App, _ context: CommandContext
  ) async throws(CommandFailure) -> (reader: (any ForeignReader)?, file: BinaryBytes?) {
    switch format {
    case .dossier: return (nil, nil)
    case .appServices:
      return (AppServicesRow.user(issuer: issuer, areEmailsVerified: areEmailsVerified), nil)
    case .appServicesDocuments:
      return (AppServicesRow.document(userField: app.appServicesSettings.userField), nil)
    case .auth0:
      let issuers = try await context.run { context async throws(Failure) in
        try await Issuers.list(of: app.name, context)
      }
      let named = Dictionary(
        issuers.map { ($0.name, $0.issuer) }, uniquingKeysWith: { first, _ in first }
      )
      let listed = try await context.run { context async throws(Failure) in
        try await Roles.list(of: app.id, context)
      }
      let roles = Dictionary(
        listed.map { (ByteString($0.name), $0.id) }, uniquingKeysWith: { first, _ in first }
      )
      guard let path = hashes else { return (Auth0Reader(issuers: named, roles: roles), nil) }
      let (found, digest) = try await Self.hashes(in: path)
      return (Auth0Reader(issuers: named, roles: roles, hashes: found), digest)
    }
  }

  /// Reads the file of password hashes, and reports the lines that have none.
  @EventLoop private static func hashes(
    in path: String
  ) async throws(CommandFailure) -> (Auth0Hashes, BinaryBytes) {
    let reader = try LineReader(opening: path)
    var hashes = Auth0Hashes()
    while let line = try await reader.next() {
      guard case .text(let text) = line else {
        say("\(path) line \(reader.position.lines): it is too long")
        continue
      }
      if text.allSatisfy({ $0 == 0x20 || $0 == 0x09 || $0 == 0x0d }) { continue }
      do throws(Failure) {
        try hashes.add(text)
      } catch {
        for fault in error.faults {
          say("\(path) line \(reader.position.lines) \(fault.place): \(fault.detail)")
        }
      }
    }
    say("\(hashes.count) password hashes")
    return (hashes, reader.position.digest)
  }
}
