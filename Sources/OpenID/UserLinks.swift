import Records
import Federation
import IdentitySubjects
import RateLimiting
package import Tenancy
import Imaging
import Accounts
import Administration
import Delivery
package import EventLoop
import JSON
import PasswordHashes
import Postgres
package import Runtime
import Sessions

/// Links two users into one, and unlinks an identity into a user of its own.
///
/// The identities of the secondary user become the primary's. If both have an address, the
/// secondary's becomes a linked one, and keeps its own password. All other data of the secondary user
/// is deleted, with its sessions, API keys and second factors.
@EventLoop package enum UserLinks {
  /// Returns the user of a client's pair of a provider and an id.
  ///
  /// - Parameters:
  ///   - provider: a provider of ids such as `auth0`, or the operator's name for an issuer.
  ///   - id: the id there, or a whole id with its provider.
  ///   - context: the context of the request.
  /// - Returns: the user; nil if the pair names none.
  /// - Throws: `.databaseUnavailable`.
  package static func user(
    at provider: String, _ id: String, _ context: RequestContext
  ) async throws(Failure) -> UserID? {
    let prefix = "\(provider)|"
    let isWhole = id.utf8.starts(with: prefix.utf8)
    let subject = isWhole ? String(Substring(id.utf8.dropFirst(prefix.utf8.count))) : id
    if let known = context.app.connections.named(auth0: provider)?.provider,
      let holder = try await context.first(SubjectQueries.holder, context.app.id, known, subject)
    {
      return holder
    }
    let issued = try await context.first(UserLinkQueries.issued, context.app.id, provider, subject)
    if let issued { return UserID(trusted: issued) }
    return try await ForeignIDs.user(of: prefix + subject, context)
  }

  /// Returns the users of an identity, whose provider is unknown.
  ///
  /// - Parameters:
  ///   - id: the id of the identity, without its provider.
  ///   - context: the context of the request.
  /// - Returns: the users, of whom some may be of another app.
  /// - Throws: `.databaseUnavailable`.
  package static func users(
    ofIdentity id: String, _ context: RequestContext
  ) async throws(Failure) -> [UserID] {
    var users = try await context.read(UserLinkQueries.anyIssued, context.app.id, id).map {
      UserID(trusted: $0)
    }
    let calls = context.app.connections.all.compactMap(\.provider).map {
      PendingQuery(SubjectQueries.holder, context.app.id, $0, id)
    }
    users += try await context.read(SubjectQueries.holder, calls).joined()
    for provider in ["auth0", "email"] {
      if let user = try await ForeignIDs.user(of: "\(provider)|\(id)", context) {
        users.append(user)
      }
    }
    return users
  }

  /// Returns the user of an ID token that the client of the request got just now.
  ///
  /// Its user must have authenticated in the last minutes: the link deletes this user.
  /// - Returns: the user, and the session of the token.
  /// - Throws: `.notLinkable` for any other token, `.databaseUnavailable`.
  package static func user(
    ofIDToken token: String, issuer: String, _ context: RequestContext
  ) async throws(Failure) -> (user: UserID, session: SessionID) {
    let identity = try await context.tokens.identity(of: token, app: context.app.id, issuer: issuer)
    guard let identity, identity.isValid() else {
      throw .notLinkable("link_with is no valid ID token of this server.")
    }
    // The token of a back end has no session, and gets no ID token.
    guard let user = context.principal.user, let session = context.principal.session,
      let own = try await ClientSessions.find(session, of: user, context),
      own.client.text.hasSameBytes(as: identity.client)
    else {
      throw .notLinkable("The aud of the ID token is not the client of the access token.")
    }
    return (identity.user, identity.session)
  }

  /// Links a user to another one, in one transaction.
  ///
  /// - Parameters:
  ///   - secondary: the user who goes.
  ///   - session: the session that must have authenticated the secondary user in the last minutes;
  ///     nil for a back end.
  ///   - primary: the user who stays.
  ///   - context: the context of the request.
  /// - Throws: `.notLinkable` with the reason, `.identityTaken` if the secondary user is the primary,
  ///   `.tooManyRequests`, `.emailRestorePending`, `.sessionEnded`, `.notFound`,
  ///   `.databaseUnavailable`.
  package static func link(
    _ secondary: UserID, shownBy session: SessionID?, to primary: UserID, _ context: RequestContext
  ) async throws(Failure) {
    guard secondary != primary else {
      throw .notLinkable("The primary and the secondary user are the same.")
    }
    try await RateLimits.countChange(of: primary, context)
    let picture = try await context.transaction { transaction async throws(Failure) -> String? in
      let (found, main) = try await parties(secondary, primary, in: transaction)
      guard let main else { throw context.gone }
      guard let found else { throw .notLinkable("The secondary user does not exist.") }
      if let session { try await requireFresh(session, of: secondary, in: transaction) }
      guard !main.isAnonymous, !found.identities.isEmpty else {
        throw .notLinkable("A guest has no identity to link.")
      }
      try check(found, main)
      try await Identities.requireNoRestore(of: primary, in: transaction)
      try await Identities.requireNoRestore(of: secondary, removed: true, in: transaction)
      _ = try await move(found, of: secondary, to: primary, main, in: transaction)
      return found.picture
    }
    await context.pictures.shelf.forget(picture)
  }

  /// Locks both users of a link, and reads them; nil for one that does not exist.
  static func parties(
    _ secondary: UserID, _ primary: UserID, in transaction: Transaction
  ) async throws(Failure) -> (secondary: LinkParty?, primary: LinkParty?) {
    // Two links of the same users would wait for one another otherwise.
    for user in [primary, secondary].sorted(by: { $0.text < $1.text }) {
      _ = transaction.send(SessionsQueries.lockUser, user)
    }
    try await transaction.requireSession(of: primary)
    let app = transaction.app.id
    return try await (
      transaction.run(UserLinkQueries.party, secondary, app).first,
      transaction.run(UserLinkQueries.party, primary, app).first
    )
  }

  /// Checks that a session has authenticated its user in the last minutes.
  private static func requireFresh(
    _ session: SessionID, of user: UserID, in transaction: Transaction
  ) async throws(Failure) {
    let fresh = try await transaction.run(
      UserLinkQueries.fresh, user, session.text, transaction.app.sessionSettings.proofLifetime
    )
    guard !fresh.isEmpty else {
      throw .notLinkable("The user of link_with must have a live session with a recent sign-in.")
    }
  }

  /// Checks that the identities of a user can become those of another one.
  static func check(_ secondary: LinkParty, _ primary: LinkParty) throws(Failure) {
    guard !secondary.isBlocked else { throw .notLinkable("The secondary user is blocked.") }
    guard let second = secondary.address, primary.address != nil else { return }
    // Mails go to the address of the primary user only.
    guard second.provider == .password, secondary.hash.map({ $0 != PasswordHash.none }) == true
    else {
      throw .notLinkable(
        "Both users have an email address, and the secondary user has no password for its own."
      )
    }
    // The owner of an address that an attacker has linked could never get it back.
    guard secondary.isEmailVerified else {
      throw .notLinkable(
        "Both users have an email address, and that of the secondary user is not verified."
      )
    }
  }

  /// Deletes the secondary user, and writes its identities for the primary; returns their new ids.
  static func move(
    _ found: LinkParty, of secondary: UserID, to primary: UserID, _ main: LinkParty,
    in transaction: Transaction
  ) async throws(Failure) -> [IdentityID] {
    try await Sessions.end(.all, of: secondary, "link", in: transaction)
    let tokens = try await takeTokens(of: found, secondary, in: transaction)
    try await Users.remove(secondary, linkedTo: primary, in: transaction)
    let isSecondAddress = main.address != nil
    if found.address != nil, !isSecondAddress, let email = found.email {
      let isVerified = found.isEmailVerified
      // An issuer may have named another address of the primary user.
      let asserted = main.key.map { [Subject(email: $0)] } ?? []
      Subjects.release(asserted, of: primary, in: transaction)
      if let hash = found.hash {
        _ = transaction.send(CredentialRowQueries.addPassword, primary, hash)
      }
      _ = transaction.send(UserLinkQueries.setAddress, primary, email, isVerified)
    }
    var (ids, rows): ([IdentityID], [JSON]) = ([], [])
    var claims: [Sent<NoRow>] = []
    for identity in found.identities {
      let id = IdentityID()
      ids.append(id)
      add(tokens.filter { $0.identity == identity.id }, to: primary, id, in: transaction)
      let isSecond = identity.provider.isAddress && isSecondAddress
      let provider = isSecond ? .linkedPassword : identity.provider
      rows.append(identity.row(of: found, secondary, as: id, provider))
      let (app, subject) = (transaction.app.id, identity.uniqueSubject)
      claims.append(
        provider == .linkedPassword
          ? transaction.send(SubjectQueries.linkAddress, app, subject.name, primary, id)
          : Subjects.sendClaim(of: subject, for: primary, id, in: transaction)
      )
    }
    let list = TextBytes(JSON.array(rows).serialized())
    _ = transaction.send(UserLinkQueries.adopt, primary, transaction.app.id, list, ServerTime())
    for claim in claims { try await claim.rows(undone: .identityTaken) }
    try await transaction.send(UserLinkQueries.count, primary).rows()
    for identity in found.identities {
      let notice = SecurityNotice.linked(identity.provider)
      try await notice.record(of: primary, in: transaction)
    }
    return ids
  }

  /// Unlinks an identity, which becomes a user of its own.
  ///
  /// It gets the id that it had before it was linked, unless another user has that by now. The other
  /// sessions that it signed in end.
  /// - Throws: `.notFound`, `.notLinkable` for the first identity, `.sessionEnded`,
  ///   `.databaseUnavailable`.
  package static func unlink(
    _ provider: IdentityProvider, _ subject: String, from user: UserID, _ context: RequestContext
  ) async throws(Failure) {
    try await RateLimits.countChange(of: user, context)
    try await context.transaction { transaction async throws(Failure) in
      try await Sessions.lockUser(user, in: transaction)
      let found = try await transaction.run(UserLinkQueries.party, user, context.app.id).first
      guard let found else { throw context.gone }
      let index = found.identities.firstIndex {
        $0.provider == provider && $0.subject.hasSameBytes(as: subject)
      }
      guard let index else { throw .notFound }
      guard index > 0 else { throw .notLinkable("The primary identity cannot be unlinked.") }
      let identity = found.identities[index]
      // Before the address goes, to which the notice is mailed.
      let notice = try await SecurityNotice.unlinked(identity.provider)
        .notice(of: user, in: transaction)
      let tokens = try await detach(identity, of: user, found, in: transaction)
      var new = identity.formerUser ?? UserID()
      if try await !transaction.run(UserLinkQueries.known, new).isEmpty { new = UserID() }
      try await create(new, of: identity, found, tokens, in: transaction)
      Event("unlink", of: user, detail: ["provider": .string(identity.provider.text)])
        .record(in: transaction)
      Event("user_create", of: new, detail: ["unlinked_from": .string(user.text)])
        .record(in: transaction)
      notice.queue(in: transaction)
    }
  }
}

extension UserLinks {
  /// Takes an identity from a locked user, and ends the sessions that it has signed in.
  ///
  /// - Returns: its refresh tokens at services.
  static func detach(
    _ identity: LinkParty.Identity, of user: UserID, _ found: LinkParty, in transaction: Transaction
  ) async throws(Failure) -> [StoredIdentityToken] {
    var subjects = [identity.uniqueSubject]
    let (key, id) = (found.key, identity.id)
    let isNamed = try await Subjects.names(key, id, of: user, in: transaction)
    if isNamed, let key { subjects.append(Subject(email: key)) }
    Subjects.release(subjects, of: user, in: transaction)
    let isAddress = identity.provider.isAddress
    let tokens = try await takeTokens(of: found, user, identity.id, in: transaction)
    _ = transaction.send(IdentitiesQueries.unlink, user, id, isAddress || isNamed)
    if isAddress { _ = transaction.send(IdentitiesQueries.removePassword, user) }
    try await Sessions.end(
      .signedIn(by: identity.provider, sparing: transaction.principal.session), of: user, "unlink",
      in: transaction
    )
    return tokens
  }

  /// Creates the user of an identity, with the id that clients knew if it is free.
  private static func create(
    _ user: UserID, of identity: LinkParty.Identity, _ party: LinkParty,
    _ tokens: [StoredIdentityToken], in transaction: Transaction
  ) async throws(Failure) {
    let (app, id) = (transaction.app.id, IdentityID())
    let row = identity.userRow(of: party)
    var foreign = row["foreign_id"]?.string
    if let known = foreign {
      let part = IdentityID(trusted: user.text)
      let claim = SubjectQueries.claimIfFree
      let claimed = try await transaction.run(claim, app, .foreign, known, user, part)
      if claimed.isEmpty { foreign = nil }
    }
    let subject = identity.uniqueSubject
    let claimed = Subjects.sendClaim(of: subject, for: user, id, in: transaction)
    _ = transaction.send(UserLinkQueries.create, user, app, TextBytes(row.serialized()), foreign)
    if let hash = row["hash"]?.string {
      _ = transaction.send(CredentialRowQueries.addPassword, user, hash)
    }
    _ = transaction.send(
      UserLinkQueries.addIdentity, user, app, id,
      identity.provider == .linkedPassword ? .password : identity.provider, identity.subject,
      identity.isProvedByReader
    )
    add(tokens, to: user, id, in: transaction)
    try await claimed.rows(undone: .identityTaken)
  }

  /// Deletes and returns the refresh tokens of identities that go to another user.
  ///
  /// Only a user with such tokens costs the statement.
  /// - Parameters:
  ///   - party: the user who has the identities.
  ///   - user: that user's id.
  ///   - identity: the identity; nil for all.
  ///   - transaction: the transaction that has locked the user.
  /// - Returns: the tokens.
  /// - Throws: `.databaseUnavailable`.
  private static func takeTokens(
    of party: LinkParty, _ user: UserID, _ identity: IdentityID? = nil, in transaction: Transaction
  ) async throws(Failure) -> [StoredIdentityToken] {
    guard party.hasTokens else { return [] }
    return try await transaction.run(LinkedTokenQueries.take, user, identity)
  }

  /// Sends the writes of tokens for the user who gets their identity.
  private static func add(
    _ tokens: [StoredIdentityToken], to user: UserID, _ identity: IdentityID,
    in transaction: Transaction
  ) {
    for token in tokens {
      _ = transaction.send(
        LinkedTokenQueries.add, user, identity, token.client, transaction.app.id,
        token.connection, token.id, BinaryBytes(token.sealed))
    }
  }
}

extension Failure {
  package static let notLinkable = Failure("identity_not_linkable", .invalid)
    .titled("These users cannot be linked.")
    .remedied("Correct the request by the rule in the detail.")
}

extension Failure {}
