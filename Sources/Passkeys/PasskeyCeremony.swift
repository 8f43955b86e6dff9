import Accounts
import Encoding
package import EventLoop
package import JSON
import Postgres
package import Runtime
import Tenancy
import WebAuthn

/// A ceremony that has begun: encrypted, so that its beginning writes nothing.
///
/// Its use writes a row into `authentication_flows`, so that it is used once.
package struct PasskeyCeremony: Sendable {
  package enum Purpose: String, Sendable {
    /// A sign-in, its second step, or a reauthentication.
    case signIn = "sign_in"
    /// A new user.
    case register
    /// A passkey for the user of the session.
    case add
    /// A passkey that completes a sign-in.
    case enroll
  }

  package let purpose: Purpose
  let challenge: [UInt8]
  /// The domain for which the app had passkeys made at the beginning.
  let relyingPartyID: String
  /// The user who gets the passkey; nil for a sign-in.
  package let user: UserID?
  /// The client that began, which alone may end it; nil at wires whose clients have no id.
  package let client: ClientID?
  /// The statements of the new user; nil unless it registers.
  let registration: PasskeyRegistration?

  /// How long a ceremony is open: longer than browsers wait for the user.
  package static let lifetime = Duration.seconds(600)
  /// The longest text, in bytes: of a registration with metadata of the greatest length.
  private static let longest = 24_576

  init(
    _ purpose: Purpose, of user: UserID? = nil, by client: ClientID? = nil,
    for registration: PasskeyRegistration? = nil, in app: App
  ) {
    (self.purpose, self.user, self.registration) = (purpose, user, registration)
    self.client = client
    relyingPartyID = app.passkeySettings.relyingPartyID
    challenge = (0..<32).map { _ in UInt8.random(in: .min ... .max) }
  }

  /// Returns the text for the client.
  ///
  /// - Throws: `.internalError` if it cannot be encrypted.
  @EventLoop package func text(
    lifetime: Duration = Self.lifetime, _ context: RequestContext
  ) throws(Failure) -> String {
    var json = JSONObject()
    json["purpose"] = .string(purpose.rawValue)
    json["challenge"] = .string(challenge.base64URL)
    json["rp_id"] = .string(relyingPartyID)
    json["user"] = user.map { .string($0.text) }
    json["client"] = client.map { .string($0.text) }
    json["registration"] = registration.map { .object($0.json) }
    return try context.keys.master.sealedText(json, as: Self.name(context), for: lifetime)
  }

  /// Reads the text that a client returns.
  ///
  /// - Throws: `.passkeyFlowExpired` if it is forged, has expired, or is of another app, client or
  ///   purpose; also if the app has passkeys made for another domain by now.
  @EventLoop package init(
    _ text: String, for purposes: [Purpose], by client: ClientID? = nil, _ context: RequestContext
  ) throws(Failure) {
    guard text.utf8.count <= Self.longest,
      let (json, hasExpired) = context.keys.master.openedText(text, as: Self.name(context)),
      !hasExpired, let purpose = purposes.first(where: { json["purpose"] == .string($0.rawValue) }),
      json["client"]?.string.flatMap({ ClientID($0) }) == client,
      let challenge = json["challenge"]?.string.flatMap({ [UInt8](base64URL: $0) }),
      let relyingPartyID = json["rp_id"]?.string,
      relyingPartyID.hasSameBytes(as: context.app.passkeySettings.relyingPartyID)
    else { throw .passkeyFlowExpired }
    (self.purpose, self.challenge, self.relyingPartyID) = (purpose, challenge, relyingPartyID)
    self.client = client
    user = json["user"]?.string.flatMap { UserID($0) }
    registration = json["registration"]?.object.map(PasskeyRegistration.init)
  }

  /// The address of the new user, and the flow of the code that was mailed there; nil without a code.
  package var mailedCode: (email: String, flow: String)? {
    guard let email = registration?.email, let flow = registration?.codeFlow else { return nil }
    return (email, flow)
  }

  /// Sends the row that uses the ceremony up.
  ///
  /// It outlives the ceremony also if the clocks of servers differ.
  /// - Parameters:
  ///   - user: the user whom the ceremony concerns.
  ///   - transaction: the transaction.
  /// - Returns: a function that waits, and throws `.passkeyInvalid` if it was used before.
  @EventLoop func use(by user: UserID, in transaction: Transaction) -> Completion {
    let used = transaction.send(
      PasskeyCeremonyQueries.use, FlowPlace(of: user), transaction.app.id,
      FlowID(hashing: challenge.base64URL), Self.lifetime * 2)
    return { () async throws(Failure) in try await used.rows(undone: .passkeyInvalid) }
  }

  /// The app, as authenticators know it.
  @EventLoop func relyingParty(_ context: RequestContext) -> RelyingParty {
    RelyingParty(id: relyingPartyID, origins: PasskeyOrigins(of: context.app, context).all)
  }

  @EventLoop private static func name(_ context: RequestContext) -> String {
    "passkey \(context.app.id)"
  }
}

/// The statements of a new user at the beginning of a registration by passkey.
package struct PasskeyRegistration: Sendable {
  /// The address as the user wrote it; nil for none.
  package let email: String?
  /// Members of the profile; `picture_url` is the URL of a picture elsewhere.
  package let profile: JSONObject
  package let metadata: JSONObject
  /// The flow whose code verifies the address; nil if none is needed.
  var codeFlow: String?

  package init(
    email: String?, profile: JSONObject = JSONObject(), metadata: JSONObject = JSONObject()
  ) {
    (self.email, self.profile, self.metadata) = (email, profile, metadata)
  }

  package init(email: String?, name: String?) {
    self.init(email: email, profile: JSONObject(name.map { [("name", .string($0))] } ?? []))
  }

  var name: String? { profile["name"]?.string }

  fileprivate init(_ json: JSONObject) {
    self.init(
      email: json["email"]?.string, profile: json["profile"]?.object ?? JSONObject(),
      metadata: json["metadata"]?.object ?? JSONObject())
    codeFlow = json["flow"]?.string
  }

  fileprivate var json: JSONObject {
    var json = JSONObject()
    json["email"] = email.map(JSON.string)
    if profile.count > 0 { json["profile"] = .object(profile) }
    if metadata.count > 0 { json["metadata"] = .object(metadata) }
    json["flow"] = codeFlow.map(JSON.string)
    return json
  }
}

package enum PasskeyCeremonyQueries {
  /// Writes the row of a used ceremony; undoes the transaction if it is there.
  static let use = Statement<NoRow, FlowPlace, AppID, FlowID, Duration>(
    "passkey_ceremonies.use",
    """
    insert into authentication_flows as f (place, app_id, flow_id, purpose, tries, expires_at)
    values ($1, $2, $3, 'passkey', 0, now() + $4::interval)
    on conflict (place, flow_id) do update
    set tries = case when require(f.tries < 0) then 0 end
    """)
}
