import EventLoop
import Postgres

/// What somebody shows who says that an address is its own, beside the token that was mailed there.
package struct Claimant: Sendable {
  /// Who holds a session, which need not be the claimant's.
  let caller: Caller?
  let password: String?
  fileprivate var isReader = false

  /// Whoever reads the mail, in a protocol that shows nothing besides.
  package static let reader: Claimant = {
    var claimant = Claimant(caller: nil, password: nil)
    claimant.isReader = true
    return claimant
  }()

  /// - Parameters:
  ///   - caller: by an access token; nil without one.
  ///   - password: that the address was claimed with; nil when it is not shown.
  package init(caller: Caller?, password: String?) {
    self.caller = caller
    self.password = password
  }
}

extension Emails {
  /// Confirms the address that a token was mailed to, for the user that claims it.
  ///
  /// The token belongs to one claim. Many may claim an address, and their mails look alike: whoever
  /// reads one has not proved to be who asked for it. So the claimant shows the password besides, or a
  /// session that was opened by it, and who cannot chooses a new password by `reset`.
  ///
  /// A session that was opened otherwise shows nothing without the password: that of an anonymous
  /// user may be one that somebody else began, who has made API keys in it. Outside of a session, and
  /// in one of an anonymous user, the password proves the claim, and all else ends that could log in
  /// before. In any other session what was made since somebody first showed who the user is stays: API
  /// keys and sessions from before, of an anonymous user, end.
  ///
  /// Who only reads the mail confirms the one claim that there is, and none of several. Somebody else
  /// may have made it: all ends but the password, and the first reset ends what came by that since.
  ///
  /// Where neither is shown, the secret of a device does on which the claimant has logged in before:
  /// as outside of a session, and then the claimant is logged in there. The password that the address
  /// was claimed with ends too, as when a code logs in: whoever claimed the address on that device may
  /// be another than who reads the mail there.
  /// - Returns: who is to be logged in; nil for nobody.
  /// - Throws: `.invalidMailToken`, `.claimantUnproved` (the token stays good), `.emailTaken` when
  ///   another has proved the address meanwhile, `.tooManyAttempts`, `.unauthenticated`,
  ///   `.overloaded`, `.unavailable`.
  @discardableResult
  @EventLoop package static func confirm(
    _ text: String,
    by claimant: Claimant,
    _ context: Context
  ) async throws(Failure) -> Proof? {
    let token = try await ShownToken(text, for: [.confirm], context)
    var guarding: FailureGuard?
    var provider: String?
    var isOnDevice = false
    if let caller = claimant.caller, caller.user == token.user {
      let found = try await context.store.read(
        SessionsQueries.provider,
        caller.user,
        caller.authority
      )
      guard let found = found.first else { throw caller.gone }
      provider = found
    }
    if provider == "password" {
      // Nothing is left to show.
    } else if let password = claimant.password {
      // By the user and not by the address, whose failures strangers can bring about: only who has read
      // the mail comes here.
      let attempts = FailureGuard(.password, on: token.user.text, context)
      try await attempts.attempt { () async throws(Failure) in
        guard
          try await context.store.passwords.verify(
            password,
            against: token.claim.hash,
            for: context.store.owner
          )
        else { throw .claimantUnproved }
      }
      guarding = attempts
    } else if claimant.caller == nil, try await Devices.know([token.user], context) {
      isOnDevice = true
    } else if !claimant.isReader {
      throw .claimantUnproved
    }
    // Who confirms without a session has the one that it began with, and is to keep it.
    let isInSession = provider != nil && provider != "anonymous"
    try await token.take(alone: claimant.isReader, context) {
      (isFirst, transaction) async throws(DatabaseError) in
      try await guarding?.succeed(in: transaction)
      guard isFirst else { return }
      if isInSession {
        // Somebody else may have begun, as an anonymous user, what the owner then went on with.
        _ = try await transaction.run(
          EmailQueries.endUnproved,
          token.user,
          context.app.id,
          context.origin.address,
          context.origin.agent
        )
      } else {
        try await endSessions(of: token.user, "email_confirm", in: transaction, context)
        try await endOtherWaysIn(
          of: token.user,
          context.app.id,
          by: "anyone",
          context.origin,
          in: transaction
        )
      }
      if isOnDevice {
        _ = try await transaction.run(PasswordQueries.set, token.user, PasswordHash.none)
      }
      if claimant.isReader {
        _ = try await transaction.run(EmailQueries.markReader, token.user)
      }
    }
    guard isOnDevice else { return nil }
    return Proof(
      of: token.user,
      by: "email",
      showing: token.claim.key,
      on: try await Devices.admit(token.user, context)
    )
  }

  @EventLoop static func endSessions(
    of user: UserID,
    _ reason: String,
    in transaction: Transaction,
    _ context: Context
  ) async throws(DatabaseError) {
    try await Sessions.end(
      .all,
      of: user,
      reason,
      by: "anyone",
      from: context.origin,
      in: transaction
    )
  }

  /// Ends what could log in besides the password, and places on devices.
  @EventLoop static func endOtherWaysIn(
    of user: UserID,
    _ app: AppID,
    by actor: String,
    _ origin: Origin,
    in transaction: Transaction
  ) async throws(DatabaseError) {
    _ = try await transaction.run(
      EmailQueries.endOtherWaysIn,
      user,
      app,
      actor,
      origin.address,
      origin.agent
    )
  }

  /// Sets a new password by a token that was mailed to reset it, or to confirm the address.
  ///
  /// This proves the address, and ends the user's sessions, places on devices and API keys. It
  /// forgets the failed logins of the address. The caller logs the user in on the device that sent
  /// the request, which is known from then on. So strangers' guesses do not hold the user up.
  ///
  /// If the address was not proved before, an attacker may have made the user. Then this ends all
  /// credentials that could log in. It does the same if only a reader of the mail has proved the
  /// address.
  /// - Returns: the user to log in, by the new password.
  /// - Throws: `.invalid`, `.invalidMailToken`, `.emailTaken` when another has proved the address
  ///   meanwhile, `.deviceUnknown`, `.deviceFull` (the token stays good), `.wayInClosed`,
  ///   `.overloaded`, `.unavailable`.
  @discardableResult
  @EventLoop package static func reset(
    _ text: String,
    password: String,
    _ context: Context
  ) async throws(Failure) -> Proof {
    try context.requireOpen(.password)
    let (token, hash) = try await choose(
      password,
      by: text,
      for: [.reset, .confirm],
      within: MailedToken.Purpose.reset.lifetime,
      context
    )
    let user = token.user
    let device = try await Devices.admit(user, context)
    try await token.take(context) { (isFirst, transaction) async throws(DatabaseError) in
      _ = try await transaction.run(PasswordQueries.set, user, hash)
      _ = try await transaction.run(APIKeyQueries.removeAll, user)
      try await endSessions(of: user, "password_reset", in: transaction, context)
      let wasReader = try await transaction.run(EmailQueries.unmarkReader, user).first != nil
      if isFirst || wasReader {
        try await endOtherWaysIn(
          of: user,
          context.app.id,
          by: "anyone",
          context.origin,
          in: transaction
        )
      }
      try await WayInChange.passwordReset.record(ofReader: user, in: transaction, context)
    }
    return Proof(of: user, by: "password", showing: hash, on: device)
  }

  /// Takes a new password by a token from a mail, which stays good: the token, and the hash to store.
  ///
  /// - Throws: `.invalid`, `.invalidMailToken`, `.overloaded`, `.unavailable`.
  @EventLoop static func choose(
    _ password: String,
    by text: String,
    for purposes: [MailedToken.Purpose],
    within lifetime: Duration? = nil,
    _ context: Context
  ) async throws(Failure) -> (ShownToken, String) {
    // Also before the token is looked at: who has none hears the same of a password.
    try check(password, of: nil, context)
    let token = try await ShownToken(text, for: purposes, within: lifetime, context)
    try check(password, of: token.claim.email, context)
    let salt = context.store.keys.master.passwordSalt(context.app.id, token.claim.key)
    return (token, try await context.store.passwords.hash(password, salt, for: context.store.owner))
  }

  @EventLoop private static func check(
    _ password: String,
    of email: String?,
    _ context: Context
  ) throws(Failure) {
    if let fault = Credentials.fault(in: password, of: email, at: "/password", context.app) {
      throw .invalid([fault])
    }
  }

  /// Makes an address the user's; others who claim it lose that way in when it was not before.
  ///
  /// A user who has no other becomes anonymous again, and keeps its data and its sessions. Those who
  /// claim what has long been proved keep the claim, or they would hear that it has. In a transaction
  /// that has locked the address.
  /// - Returns: whether it was not the user's before; nil when the user has no password any more.
  @EventLoop static func prove(
    _ email: String,
    of user: UserID,
    in app: AppID,
    by actor: String,
    _ transaction: Transaction
  ) async throws(DatabaseError) -> Bool? {
    let isFirst = try await transaction.run(EmailQueries.confirm, user, app, email).first
    guard isFirst == true else { return isFirst }
    _ = try await transaction.run(EmailQueries.supersede, app, email, user, actor)
    return isFirst
  }
}
