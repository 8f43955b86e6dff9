package import EventLoop
package import JSON
import Postgres
package import Records
package import Runtime

/// A client as operators see it.
package typealias StoredClient = Stored<ClientRecord>

/// The attributes of a client, as an operator sets them.
package struct ClientRecord: OwnedRecord {
  package let name: String
  package let kind: ClientKind
  /// Its scopes at the management API.
  package let scopes: [String]
  package let isDisabled: Bool
  package let settings: ClientSettings
  /// The secrets that it had elsewhere, of which a creation may have one.
  private let given: [GivenSecret]

  package init(_ read: inout RecordReader) {
    _ = read.optional(
      "id", .idOfClient, "the id that it had at another server; by default a new one", .immutable,
      .auth0("client_id"), read: \.string)
    name = read.requiredText(
      "name", .label, "the name that people see", .auth0("name"), .example("nightly-report"))
    kind = read.choice(
      "kind", .machine, safe: .native,
      "native, single_page, web, or machine; native and single-page clients have no secret",
      .required, .immutable, .example("machine"))
    let secret = read.optional(
      "secret", ColumnRule(.text(0...1_024)),
      "the secret that it had at another server, of 32 to 256 characters", .secret, .immutable,
      .auth0("client_secret"), read: \.string)
    let digest = read.optional(
      "secret_sha256", ColumnRule(.text(0...1_024)),
      "in place of secret, its SHA-256 digest in hexadecimal", .secret, .immutable,
      .auth0("client_secret_sha256"), read: \.string)
    given = [secret.map(GivenSecret.text), digest.map(GivenSecret.digest)].compactMap(\.self)
    scopes = read.texts(
      "scopes", ColumnRule(.choices(Scopes.management)),
      "its scopes for the routes of /v1 that a client of kind web or machine calls with its secret",
      .listed, .example([.string(Scopes.readUsers)]))
    isDisabled = read.flag("disabled", false, safe: true, "whether it is refused", .listed)
    settings = ClientSettings(&read)
    if kind.isPublic { read.show("pkce", .string(ClientSettings.PKCE.required.rawValue)) }
  }

  package static let words = RecordWords(
    command: "client", type: "Client", one: "client", many: "clients", app: .memberOrNull,
    "An OAuth client: a program that signs users in, or a back end.",
    consequence: "Its next request is refused, its sessions end, and its grants go with it.")

  package static let shownOnce: String? =
    "returned only once; absent for a client without a secret, or with a given one"

  package static let derived = [
    DerivedMember<ClientRecord>(
      "chosen", ColumnRule(.texts(atMost: 100)), isListed: false,
      "the attributes that differ from their defaults"
    ) { client in
      let names = table.attributes.map(\.name)
      let chosen = table.shape.listed(client.chosen).chosen.filter(names.contains)
      return .array(JSONArray(chosen.map(JSON.string)))
    }
  ]

  package static let table = RecordTable<ClientRecord>(
    "clients", key: "client_id",
    own: [
      .text("id", in: "client_id"), .text("name"), .text("kind"), .words("scopes", in: "scope"),
      .time(since: "disabled", in: "disabled_at"), .hash("secret_hash"),
      .time(of: "secret_hash", in: "secret_created_at"),
    ],
    rest: "settings", order: "r.created_at, r.client_id",
    .init(
      list: "clients.list", show: "clients.show", lock: "clients.lock", insert: "clients.create",
      change: "clients.change", delete: "clients.delete"))
}

extension Stored<ClientRecord> {
  package var id: ClientID { ClientID(trusted: key) }
}

// MARK: Rules

extension ColumnRule {
  fileprivate static let idOfClient = ColumnRule.text(0...1_024, "id", ClientID.rule) {
    ClientID($0) ?? .pages != .pages
  }
}

extension ClientRecord {
  package static var taken: Failure { .clientExists }
  package static func key(of new: JSONObject) -> String { new["id"]?.string ?? ClientID().text }

  package static func faults(
    in record: ClientRecord, _ change: RecordChange, of stored: StoredClient?
  ) -> [ColumnFault] {
    var faults: [ColumnFault] = []
    if stored == nil {
      if record.given.count > 1 {
        let rule = "Send either secret or secret_sha256."
        faults.append(ColumnFault("/secret_sha256", "secret", rule))
      } else if let fault = record.given.first?.fault(of: record.kind) {
        faults.append(fault)
      }
    }
    faults += record.settings.nativeApp.faults
    // Stored lists may still have such URLs, which never match.
    for name in ["callback_urls", "logout_urls"] {
      let urls = change.patch[name]?.array?.compactMap(\.string) ?? []
      for (index, url) in urls.enumerated() {
        guard let rule = ClientURL.wildcardReason(against: url) else { continue }
        faults.append(ColumnFault("/\(name)", "wildcard", "URL \(index + 1): \(rule)"))
      }
    }
    if record.kind.isPublic, !record.scopes.isEmpty {
      faults.append(
        ColumnFault("/scopes", "kind", "A client without a secret cannot have scopes."))
    }
    if record.kind.isPublic,
      change.patch["pkce"] == .string(ClientSettings.PKCE.optional.rawValue)
    {
      faults.append(
        ColumnFault("/pkce", "kind", "A client without a secret must always use PKCE."))
    }
    return faults
  }

  @EventLoop package static func check(
    _ record: ClientRecord, _ key: String, in app: AppID?, _ transaction: Transaction
  ) async throws(Failure) {
    guard app == nil else { return }
    var faults: [FieldError] = []
    if record.kind != .machine {
      faults.append(
        FieldError("/kind", "operator", "A client of the operator must be of kind machine."))
    }
    if !record.scopes.isEmpty {
      faults.append(
        FieldError(
          "/scopes", "operator",
          "A client of the operator may do everything, so it cannot have scopes."))
    }
    guard faults.isEmpty else { throw .invalid(faults) }
  }

  /// Returns the hash of the secret of a new client: the given one, or one that it makes.
  @EventLoop package static func secrets(
    of record: ClientRecord, _ patch: JSONObject, _ key: String, in app: AppID?, isNew: Bool,
    _ context: RequestContext
  ) throws(Failure) -> RecordSecrets {
    var secrets = RecordSecrets()
    let master = context.keys.master
    if !isNew || record.kind.isPublic { return secrets }
    if let given = record.given.first {
      secrets.stored["secret_hash"] = given.hash(of: ClientID(trusted: key), master)?.bytes
    } else {
      let secret = newSecret()
      secrets.stored["secret_hash"] = secret.hash(master).bytes
      secrets.shown = secret.text(master)
    }
    return secrets
  }

  /// A client secret names no client, since a client may have an id of another form.
  private static func newSecret() -> Credential {
    Credential(.clientSecret, of: ID<Credential>())
  }

  /// Replaces the secret of a client; requests with the old one are refused at once.
  ///
  /// - Returns: the client, with its new secret, which is shown only once.
  /// - Throws: `.publicClient`, `.notFound`, `.databaseUnavailable`.
  @EventLoop package static func rotateSecret(
    of key: String, in app: AppID?, _ context: RequestContext
  ) async throws(Failure) -> StoredClient {
    try table.requireStorable(key)
    let secret = newSecret()
    var client = try await context.transaction { transaction async throws(Failure) in
      guard let before = try await transaction.run(table.statements.lock, app?.text, key).first
      else { throw .notFound }
      guard !before.kind.isPublic else { throw .publicClient }
      _ = transaction.send(
        ClientAdministrationQueries.setSecret, before.id, secret.hash(context.keys.master))
      Event("client_secret_rotate", detail: ["client_id": .string(key)])
        .record(in: transaction, app: before.appID ?? .deployment)
      return try await transaction.run(table.statements.show, app?.text, key)
    }.first.orUnforeseen("a client with a new secret")
    client.newSecret = secret.text(context.keys.master)
    return client
  }
}

package enum ClientAdministrationQueries {
  static let setSecret = Statement<NoRow, ClientID, BinaryBytes>(
    "clients.set_secret",
    """
    update clients set secret_hash = $2, secret_created_at = now(), version = version + 1
    where client_id = $1
    """)
}
