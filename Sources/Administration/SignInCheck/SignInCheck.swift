import Accounts
package import Delivery
import EventLoop
import IdentitySubjects
import JSON
package import Outbound
import Postgres
import RateLimiting
package import Runtime
import Sessions
import Tenancy

/// The answer to "Why can this user not sign in?".
package struct SignInCheck: Sendable {
  /// Nil if no user has the address.
  package let user: UserID?
  /// The address that was asked, or that of the user.
  package let email: String?
  /// The methods by which the user can sign in now.
  package let methods: [SignInMethod]
  /// The reasons, in the order in which a helper looks at them.
  package let reasons: [SignInReason]
  /// Whether the user has a second factor.
  package let hasSecondFactor: Bool
  /// The newest emails to the user, or to the address.
  package let mails: [ListedMail]

  /// The most emails.
  package static let mostMails = 5

  /// The user to check.
  package enum Question: Sendable {
    case email(String)
    case user(UserID)
  }

  /// Finds the reasons why a user cannot sign in.
  ///
  /// - Parameters:
  ///   - question: the user, or an address of any user or none.
  ///   - client: the client that the user signs in to; nil to ask for none.
  ///   - network: an address of the network in which the user is; nil if it is unknown. Limits are
  ///     looked up in the networks of the user's latest sessions and failures too.
  ///   - context: the context of the app.
  /// - Returns: the reasons, and the methods that work.
  /// - Throws: `.notFound` for the id of a user that never existed, `.databaseUnavailable`.
  @EventLoop package static func run(
    of question: Question, at client: String?, from network: IPAddress?, _ context: RequestContext
  ) async throws(Failure) -> SignInCheck {
    var found = Findings(context)
    switch question {
    case .user(let user):
      try await found.read(user)
      if found.facts == nil { try await found.addDeletion(of: user) }
    case .email(let email):
      found.email = email
      let address = try await EmailAddress(email, context)
      found.keys = [address.key]
      try await found.find(address, as: email)
    }
    if let facts = found.facts { found.addState(facts) }
    try await found.addFailures()
    try await found.addLimits(from: network)
    if let facts = found.facts { found.addFactors(facts) }
    if let client { try await found.addClient(client) }
    try await found.addMail()
    if let facts = found.facts { found.addKind(facts) }
    let mails = try await MailDeliveries.list(of: found.user, at: found.keys, context)
    let all = found.facts?.methods(in: context.app) ?? []
    let prevented = found.reasons.flatMap(\.prevented)
    return SignInCheck(
      user: found.user, email: found.email,
      methods: all.filter { !prevented.contains($0) }, reasons: found.reasons,
      hasSecondFactor: found.facts?.hasFactor ?? false,
      mails: Array(mails.prefix(mostMails))
    )
  }
}

/// The findings of a check so far.
@EventLoop struct Findings {
  let context: RequestContext
  var reasons: [SignInReason] = []
  var user: UserID?
  var email: String?
  /// The keys of the addresses by which the user signs in.
  var keys: [String] = []
  var facts: SignInFacts?
  var events: [SignInEvent] = []

  init(_ context: RequestContext) { self.context = context }

  var app: App { context.app }
  /// How commands name the user.
  private var name: String { user?.text ?? email ?? "" }
  private var path: String { "/v1/users/\(user?.text ?? "")" }
  private var methods: [SignInMethod] { facts?.methods(in: app) ?? [] }

  // MARK: The user

  /// Reads a user and its latest sign-ins; nothing if the app has no such user.
  mutating func read(_ user: UserID) async throws(Failure) {
    let domain = app.passkeySettings.openDomain
    guard
      let facts = try await context.first(SignInCheckQueries.facts, user, app.id, domain)
    else { return }
    (self.user, self.facts) = (user, facts)
    email = email ?? facts.email
    for key in facts.keys where !keys.contains(key) { keys.append(key) }
    events = try await context.read(SignInCheckQueries.events, user, app.id)
  }

  /// Finds the user of an address, or the reasons why none has it.
  mutating func find(_ address: EmailAddress, as email: String) async throws(Failure) {
    let holder = try await context.first(SignInCheckQueries.holder, app.id, address.key)
    if let holder, holder.reservedUntil == nil { try await read(holder.user) }
    guard facts == nil else { return }
    if let holder, let until = holder.reservedUntil, until.microseconds > Timestamp.now.microseconds
    {
      let now = try await context.first(SignInCheckQueries.facts, holder.user, app.id, "")?.email
      reasons.append(
        SignInReason(
          .formerAddress,
          "The user \(holder.user) has another address now, \(now ?? "or none"); this one stays "
            + "reserved until \(until.text).",
          with: ["user_id": .string(holder.user.text), "email": now.map(JSON.string) ?? .null],
          explaining(now ?? holder.user.text)
        ))
    }
    try await addWaiting(address, email)
    if reasons.isEmpty {
      reasons.append(
        SignInReason(.noUser, "No user of the app has the address \(email).", creating(email)))
    }
    try await addSimilar(address)
  }

  /// Adds the users whose addresses are almost the same.
  private mutating func addSimilar(_ address: EmailAddress) async throws(Failure) {
    let prefixes = SimilarAddresses.prefixes(of: address.key)
    let calls = prefixes.map { PendingQuery(SignInCheckQueries.similar, app.id, $0) }
    guard !calls.isEmpty else { return }
    let users = try await context.read(SignInCheckQueries.similar, calls, on: .search).joined()
    for other in SimilarAddresses.similar(to: address.key, among: Array(users)) {
      let difference =
        SimilarAddresses.hasOtherDomain(address.key, other.key)
        ? "has the same name at another domain" : "is almost the same"
      reasons.append(
        SignInReason(
          .similarAddress,
          "The user \(other.user) has the address \(other.email), which \(difference).",
          with: ["user_id": .string(other.user.text), "email": .string(other.email)],
          explaining(other.email)
        ))
    }
  }

  private mutating func addWaiting(
    _ address: EmailAddress, _ email: String
  ) async throws(Failure) {
    let until = try await context.first(
      SignInCheckQueries.waiting, FlowPlace(of: address), app.id, address.key)
    guard let until else { return }
    reasons.append(
      SignInReason(
        .signUpWaiting,
        "A sign-up with the address waits until \(until.text) for the code in the email.",
        until: until, creating(email)
      ))
  }

  /// Adds why the app has no user with an id any more.
  ///
  /// Throws `.notFound` if it never had one.
  mutating func addDeletion(of user: UserID) async throws(Failure) {
    let found = try await context.first(SignInCheckQueries.deletion, user, app.id)
    guard let found else { throw .notFound }
    if let heir = found.detail["linked_to"]?.string {
      reasons.append(
        SignInReason(
          .merged, "\(found.actor) has merged the user into \(heir) at \(found.at.text).",
          with: ["user_id": .string(heir), "at": .string(found.at.text)], explaining(heir)
        ))
    } else {
      reasons.append(
        SignInReason(
          .deleted,
          "\(found.actor) has deleted the user at \(found.at.text); create it again.",
          with: ["at": .string(found.at.text), "actor": .string(found.actor)],
          .init(
            "GET", "/v1/users/\(user)/audit",
            command: CommandLineText("audit", "--user", user.text).text(in: app))
        ))
    }
  }

  // MARK: Its state

  /// Adds a block, an address that must be verified, and methods that the app or the user lacks.
  mutating func addState(_ facts: SignInFacts) {
    if let since = facts.blockedAt {
      reasons.append(
        SignInReason(
          .blocked, "The user has been blocked since \(since.text).", preventing: methods,
          with: ["at": .string(since.text)],
          .init(
            "PATCH", path, ["blocked": false],
            command: CommandLineText("user", "unblock").text(in: app, name))
        ))
    }
    let mustVerify = app.accountSettings.signUp == .verifyFirst
    if mustVerify, facts.email != nil, !facts.isVerified, facts.hasPassword {
      reasons.append(
        SignInReason(
          .emailUnverified, "The app requires a verified address, and that of the user is not.",
          preventing: [.password],
          .init(
            "POST", "\(path)/email/verify",
            command: CommandLineText("user", "verify-email").text(in: app, name))
        ))
    }
    if facts.email != nil, !facts.hasPassword, facts.issuers.isEmpty {
      reasons.append(
        SignInReason(
          .noPassword, "The user has no password.", preventing: [.password], mailingPassword))
    }
    for method in methods {
      guard let way = method.setting, !app.accountSettings.isOpen(way) else { continue }
      let name = way.rawValue
      reasons.append(
        SignInReason(
          .methodDisabled, "The setting \(name) of the app does not allow this method.",
          preventing: [method], with: ["setting": .string(name)], setting(name, true)
        ))
    }
  }

  /// Adds the kinds of users who have no password to type.
  mutating func addKind(_ facts: SignInFacts) {
    if facts.isAnonymous {
      reasons.append(
        SignInReason(
          .guest,
          "The user is a guest, who has no credentials; on the device, the user can add some.",
          .init("POST", "/v1/me/identities", command: nil)
        ))
    }
    let names = facts.issuers.map { SignInFacts.method(of: $0, in: app).name }
    if !names.isEmpty, !facts.hasPassword {
      let list = names.joined(separator: ", ")
      reasons.append(
        SignInReason(
          .connectionOnly, "The user signs in by \(list) only, and has no password.",
          preventing: [.password], with: ["connections": .array(names.map(JSON.string))],
          facts.email == nil
            ? .init("POST", "/v1/me/identities", command: nil) : mailingPassword
        ))
    }
  }

  // MARK: Its sign-ins

  /// Adds wrong passwords and codes of the last day, since the last sign-in, of a user who is not blocked.
  mutating func addFailures() async throws(Failure) {
    // The right password of a blocked user fails too.
    guard facts?.blockedAt == nil else { return }
    let recent = events.prefix { !($0.isSignIn && $0.provider != "api-key") }
    add(
      recent.filter { !$0.isSignIn && $0.provider == "password" }, .wrongPassword,
      "A wrong password was sent", mailingPassword)
    add(
      recent.filter { !$0.isSignIn && $0.provider == "second-factor" }, .wrongFactor,
      "A wrong code of the second factor was sent",
      .init(
        "DELETE", "\(path)/second-factors",
        command: CommandLineText("user", "second-factors", "remove").text(in: app, name)))
  }

  private mutating func add(
    _ failures: [SignInEvent], _ code: SignInReason.Code, _ what: String,
    _ remedy: SignInReason.Remedy
  ) {
    guard let last = failures.first else { return }
    let networks = Self.distinct(failures.compactMap(\.address))
    let places = networks.isEmpty ? "" : ", from \(networks.joined(separator: ", "))"
    reasons.append(
      SignInReason(
        code,
        "\(what) \(failures.count) times since the last sign-in, last at \(last.at.text)\(places).",
        with: [
          "count": .number(JSONNumber(failures.count)), "at": .string(last.at.text),
          "networks": .array(networks.map(JSON.string)),
        ], remedy
      ))
  }

  /// Adds the rate limits that refuse attempts now.
  mutating func addLimits(from network: IPAddress?) async throws(Failure) {
    var texts = network.map { [$0.description] } ?? []
    texts += events.compactMap(\.address) + (facts?.networks ?? [])
    let networks = Self.distinct(texts).prefix(20).compactMap(IPAddress.init)
    let limits = try await RateLimits.refusing(
      keys, user, on: facts?.devices ?? [], from: networks, context)
    let now = Timestamp.now.microseconds
    for limit in limits {
      let until = Timestamp(microseconds: now + limit.wait.wholeSeconds * 1_000_000)
      let prevented: [SignInMethod] =
        switch limit.purpose {
        case .mail: [.emailCode]
        case .login, .secondFactor, .recoveryCode: [.password]
        default: methods
        }
      var place = ""
      if let network = limit.network { place = " from \(network)" }
      if let device = limit.device { place = " on the device \(device)" }
      reasons.append(
        SignInReason(
          .rateLimited,
          "Too many attempts\(place): the limit \(limit.name) refuses more until \(until.text).",
          preventing: prevented, until: until,
          with: [
            "limit": .string(limit.name),
            "network": limit.network.map { .string("\($0)") } ?? .null,
            "device_id": limit.device.map { .string($0.text) } ?? .null,
          ], resetting(limit.network)
        ))
    }
  }

  private static func distinct(_ texts: [String]) -> [String] {
    var seen: Set<String> = []
    return texts.filter { seen.insert($0).inserted }
  }

  // MARK: Second factors, clients and mail

  mutating func addFactors(_ facts: SignInFacts) {
    let isByAddress = facts.hasPassword || facts.email != nil
    if app.sessionSettings.mfa == .required, !facts.hasFactor, !facts.hasPasskey, isByAddress {
      reasons.append(
        SignInReason(
          .factorNotEnrolled,
          "The app requires a second factor, and the user has none: the next sign-in asks for one, "
            + "and clients that cannot ask refuse it.",
          setting("mfa", "optional")
        ))
    }
    if app.passkeySettings.isRequired, !facts.hasPasskey, isByAddress {
      reasons.append(
        SignInReason(
          .passkeyNotEnrolled,
          "The app requires a passkey, and the user has none: the next sign-in adds one, and "
            + "clients that cannot do that refuse it.",
          setting("passkey", "first")
        ))
    }
  }

  /// Adds why a client does not accept the user.
  mutating func addClient(_ name: String) async throws(Failure) {
    let all = methods
    var found: CheckedClient?
    if let id = ClientID(name) {
      found = try await context.first(SignInCheckQueries.client, id, app.id)
    }
    guard let found, found.client.kind != .machine else {
      reasons.append(
        SignInReason(
          .clientUnknown, "No client of the app that signs users in has the id \(name).",
          preventing: all, with: ["client_id": .string(name)],
          .init("GET", "/v1/clients", command: CommandLineText("client", "list").text(in: app))
        ))
      return
    }
    let id = found.client.id.text
    if found.isDisabled {
      reasons.append(
        SignInReason(
          .clientDisabled, "The client \(found.client.name) is disabled.", preventing: all,
          with: ["client_id": .string(id)], change(of: id, "disabled", false, "false")
        ))
    }
    let settings = found.client.settings
    let refused = all.filter { !settings.allows($0.connection) }
    guard !refused.isEmpty else { return }
    let names = refused.map(\.name)
    let accepted = refused.compactMap(\.connection) + settings.connections
    // A way without a name is accepted only by a client that accepts all.
    let list =
      refused.contains { $0.connection == nil } ? [] : Self.distinct(accepted.map(\.name)).sorted()
    reasons.append(
      SignInReason(
        .methodNotAccepted,
        "The client \(found.client.name) does not accept \(names.joined(separator: ", ")).",
        preventing: refused,
        with: ["client_id": .string(id), "methods": .array(names.map(JSON.string))],
        change(
          of: id, "connections", .array(list.map(JSON.string)), list.joined(separator: ","))
      ))
  }

  private func change(
    of client: String, _ attribute: String, _ value: JSON, _ text: String
  ) -> SignInReason.Remedy {
    .init(
      "PATCH", "/v1/clients/\(client)", .object(JSONObject([(attribute, value)])),
      command: CommandLineText("client", "set", client, "\(attribute)=\(text)").text(in: nil))
  }

  /// Adds the mails to the user that the relay has refused.
  mutating func addMail() async throws(Failure) {
    guard !keys.isEmpty else { return }
    let addresses = keys
    let mails = try await Outbox.failed(context).filter { mail in
      mail.recipient.map { addresses.contains($0.lowercased()) } == true
    }
    for mail in mails {
      let next = mail.nextAttemptAt.map { "the next attempt is at \($0.text)" }
      let id = mail.id.text
      reasons.append(
        SignInReason(
          .mailFailed,
          "The email \(id) (\(mail.kind)) was not delivered: \(mail.answer ?? ""); "
            + "\(next ?? "it is given up").",
          preventing: mail.kind == MailKind.code.name ? [.emailCode] : [],
          with: [
            "mail_id": .string(id), "kind": .string(mail.kind),
            "last_error": mail.answer.map(JSON.string) ?? .null,
          ],
          .init(
            "POST", "/v1/mails/\(id)/retry",
            command: CommandLineText("mail", "retry", id).text(in: nil))
        ))
    }
  }

  // MARK: Remedies

  private func explaining(_ other: String) -> SignInReason.Remedy {
    let member = UserID(other) == nil ? "email" : "user_id"
    return .init(
      "POST", "/v1/sign-in-checks", .object(JSONObject([(member, .string(other))])),
      command: CommandLineText("user", "explain").text(in: app, other))
  }

  private func creating(_ email: String) -> SignInReason.Remedy {
    .init(
      "POST", "/v1/users", ["email": .string(email)],
      command: CommandLineText("user", "create", "--mail").text(in: app, "email=\(email)"))
  }

  private var mailingPassword: SignInReason.Remedy {
    .init(
      "POST", "\(path)/password/reset-request",
      command: CommandLineText("user", "password", "--mail").text(in: app, name))
  }

  private func resetting(_ network: IPAddress?) -> SignInReason.Remedy {
    var body = JSONObject()
    let target = email ?? user?.text ?? ""
    body[email == nil ? "user_id" : "email"] = .string(target)
    if let network { body["network"] = .string(network.description) }
    let words =
      network.map { CommandLineText("rate-limit", "reset", "--network", $0.description) }
      ?? CommandLineText("rate-limit", "reset")
    return .init(
      "POST", "/v1/rate-limits/reset", .object(body), command: words.text(in: app, target))
  }

  private func setting(_ name: String, _ value: JSON) -> SignInReason.Remedy {
    let text = value.string ?? (value == true ? "true" : "false")
    return .init(
      "PATCH", "/v1/apps/\(app.name)",
      ["settings": .object(JSONObject([(name, value)]))],
      command: CommandLineText("app", "set").text(in: app, "\(name)=\(text)"))
  }
}
