import Administration
import Encoding
import EventLoop
import HTTP
import IdentitySubjects
import JSON
import OpenID
import Runtime
import Tenancy
import WireKit

/// `/api/v2/grants`: what users have allowed applications.
///
/// Consents are stored with their users, so a list is that of one user.
@EventLoop enum GrantRoutes {
  private nonisolated static let path = "/api/v2/grants"

  nonisolated static let routes = [
    Route(
      .get, path, access: .management(Scopes.readUsers),
      summary: "List what a user has allowed applications"
    ) { call async throws(Failure) in
      let query = try call.query
      let page = try PageParameters(query)
      let (user, name) = try await user(query, call.context)
      let (client, audience) = (query["client_id"] ?? "", query["audience"] ?? "")
      let grants = try await Consents.list(of: user, call.context).map { consent in
        Grant(consent, ProvidedAPI.audience(of: consent.audience, at: call.issuer))
      }
      let found = grants.filter {
        (client.isEmpty || $0.client.text.hasSameBytes(as: client))
          && (audience.isEmpty || $0.audience.hasSameBytes(as: audience))
      }
      return page.response(found, named: "grants") { $0.json(of: user, named: name) }
    },
    Route(
      .delete, path, access: .management(Scopes.updateUsers),
      summary: "Take all consent of a user from applications, and end their sessions"
    ) { call async throws(Failure) in
      let (user, _) = try await user(call.query, call.context)
      var revoked: [ClientID] = []
      for consent in try await Consents.list(of: user, call.context)
      where !revoked.contains(consent.client) {
        try await Consents.revoke(consent.client, by: user, call.context)
        revoked.append(consent.client)
      }
      return Response(.noContent)
    },
    Route(
      .delete, "\(path)/{grant}", access: .management(Scopes.updateUsers),
      summary: "Take the consent of a user from an application, and end its sessions"
    ) { call async throws(Failure) in
      guard let (user, name) = Grant.parts(of: call.text("grant")) else { throw inexistent }
      do throws(Failure) {
        // It finds no user of another app.
        let consents = try await Consents.list(of: user, call.context)
        guard let client = consents.first(where: { Grant.name(of: $0) == name })?.client else {
          throw .notFound
        }
        try await Consents.revoke(client, by: user, call.context)
      } catch .notFound {
        throw inexistent
      }
      return Response(.noContent)
    },
  ]

  private static var inexistent: Failure {
    Failure.inexistentResource("The grant does not exist.")
  }

  /// Returns the user that a query names, and its id as the query spells it.
  ///
  /// - Throws: `.queryMalformed` without one, `.notFound`.
  private static func user(
    _ query: FormValues, _ context: RequestContext
  ) async throws(Failure) -> (UserID, String) {
    guard let id = query["user_id"], !id.isEmpty else {
      throw .queryMalformed("Send user_id. Grants can be listed and deleted by user.")
    }
    guard let user = try await ForeignIDs.user(of: id, context) else { throw .notFound }
    return (user, id)
  }
}

/// A consent, as the API shows it.
private struct Grant {
  let client: ClientID
  let audience: String
  private let scopes: [String]
  private let name: String

  private static let prefix = "grt_"
  private static let length = 24

  init(_ consent: Consent, _ audience: String) {
    (client, scopes) = (consent.client, consent.scopes)
    self.audience = audience
    name = Self.name(of: consent)
  }

  /// Returns the part of an id that names the client and the API of a consent.
  static func name(of consent: Consent) -> String {
    ID<Grant>(hashing: "\(consent.client) \(consent.audience)").text
  }

  /// Returns the user and the name in an id; nil for a text of another form.
  static func parts(of id: String) -> (user: UserID, name: String)? {
    let ids = id.utf8.dropFirst(prefix.utf8.count)
    guard id.utf8.starts(with: prefix.utf8), ids.count == 2 * length,
      let user = UserID(String(decoding: ids.prefix(length), as: UTF8.self)),
      let name = ID<Grant>(String(decoding: ids.suffix(length), as: UTF8.self))
    else { return nil }
    return (user, name.text)
  }

  func json(of user: UserID, named id: String) -> JSON {
    [
      "id": .string("\(Self.prefix)\(user)\(name)"), "clientID": .string(client.text),
      "user_id": .string(id), "audience": .string(audience),
      "scope": .array(scopes.map(JSON.string)),
    ]
  }
}
