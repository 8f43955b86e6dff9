import EventLoop
import IdentitySubjects
import JSON
import Runtime
import Sessions
import Tenancy
import WireKit

extension Access {
  /// Returns access with a token of the Management API that has one of some scopes.
  ///
  /// - Parameters:
  ///   - scopes: the scopes.
  ///   - all: scopes that suffice together, for a client; empty for none.
  ///   - proof: the evidence that a user must also give.
  /// - Returns: the access.
  static func management(
    _ scopes: String..., orAll all: [String] = [], proof: Proof = .session
  ) -> Access {
    let choices = scopes + (all.isEmpty ? [] : [all.joined(separator: " and ")])
    let kind = BearerKind(
      "access token of the Management API (\(choices.joined(separator: " or ")))",
      isOfForm: AccessTokens.isOfForm
    ) { token, call async throws(Failure) in
      let owner = try await ManagementToken.owner(of: token, for: scopes, call)
      // Scopes of users give a client nothing, and those of back ends give a user nothing.
      let isGranted =
        switch owner {
        case .user(let principal):
          scopes.contains { ProvidedAPI.management.isOfUser($0) && principal.scopes.contains($0) }
        case .client(let client):
          scopes.contains { !ProvidedAPI.management.isOfUser($0) && client.scopes.contains($0) }
            || !all.isEmpty && all.allSatisfy { client.scopes.contains($0) }
        }
      guard isGranted else {
        throw .insufficientScope(scope: choices.joined(separator: ","))
      }
      return owner
    }
    return .bearer(kind, proof: proof)
  }
}

@EventLoop private enum ManagementToken {
  /// Verifies a token.
  ///
  /// A client that was disabled is refused at once, as is a user whose session has ended.
  static func owner(
    of token: String, for wanted: [String], _ call: Call
  ) async throws(Failure) -> BearerOwner {
    let (context, app) = (call.context, call.context.app.id)
    let audience = ProvidedAPI.management.audience(at: call.issuer)
    // A native token names no client.
    guard let (id, isOfUser) = AccessTokens.claimedOwner(of: token) else { throw .tokenInvalid }
    // The user of the path takes no round trip of its own.
    var batch = ReadBatch()
    let readClient = Clients.addRead(id, of: app, to: &batch)
    let readUser = ForeignIDs.addUser(of: call.text(Call.userSegment), to: &batch, context)
    let results = try await context.read(batch)
    guard var client = try readClient(results) else { throw .tokenInvalid }
    if let readUser { context.keep(UserOfPath(try readUser(results))) }
    guard !isOfUser else {
      return .user(try await context.tokens.principal(of: token, app: app, audience: audience))
    }
    guard
      let claims = try await context.tokens.claims(
        ofOpenIDToken: token, app: app, issuer: call.issuer
      ),
      claims["aud"]?.string?.hasSameBytes(as: audience) == true
    else { throw .tokenInvalid }
    client.scopes = Scopes(withImplied(claims["scope"]?.string ?? "", for: wanted))
    return .client(client)
  }

  /// The scopes for users include their app metadata, as at Auth0.
  ///
  /// At a route that creates or changes users, they include the data that its response shows.
  private static func withImplied(_ text: String, for wanted: [String]) -> String {
    let scopes = Scopes(text)
    func allows(_ scope: String) -> Bool { wanted.contains(scope) && scopes.contains(scope) }
    let writes = allows(Scopes.createUsers) || allows(Scopes.updateUsers)
    var all = text
    if writes { all += " \(Scopes.readUsers)" }
    if writes || scopes.contains(Scopes.readUsers) || allows(Scopes.updateAppMetadata) {
      all += " \(Scopes.readAppMetadata)"
    }
    if writes || scopes.contains(Scopes.updateUsers) { all += " \(Scopes.updateAppMetadata)" }
    return all
  }
}

/// The user of the path of a request, which was read together with the client.
@EventLoop private final class UserOfPath: RequestPart {
  /// Nil if the id names none.
  let user: UserID?

  init(_ user: UserID?) { self.user = user }
}

extension Call {
  /// The name of the segment of the path that names a user.
  fileprivate static let userSegment = "user"

  /// Returns the user of the path.
  ///
  /// - Throws: `.unownedResource` if a user's token names another user, `.notFound`.
  func managedUser() throws(Failure) -> UserID {
    guard let found = context.part(UserOfPath.self) else {
      throw .userIDMalformed(
        "Path validation error: 'String does not match pattern ^.+\\|.+$' on property id."
      )
    }
    if let own = context.principal.user, own != found.user { throw .unownedResource }
    guard let user = found.user else { throw .notFound }
    return user
  }
}
