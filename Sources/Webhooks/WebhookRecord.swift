package import EventLoop
package import Events
package import JSON
import Outbound
import Postgres
package import Records
package import Runtime
package import Tenancy

/// A receiver of the events of an app.
package typealias Webhook = Stored<WebhookRecord>

/// The attributes of a webhook, as an operator sets them.
package struct WebhookRecord: OwnedRecord {
  package let url: String
  package let types: [String]
  package let signature: WebhookKeys.Kind
  package let description: String
  package let isEnabled: Bool

  package init(_ read: inout RecordReader) {
    url = read.requiredText(
      "url", ColumnRule(.text(1...ReceiverURL.longest)), "the URL that gets the events",
      .example("https://hooks.example.com/dossier"))
    types = read.texts(
      "types", .eventTypes, "the types of the events; user.* stands for a group", .required,
      .listed,
      .example(["user.*", "session.ended"]))
    signature = read.choice(
      "signature", .hmac, safe: .hmac,
      "how deliveries are signed: hmac with a shared secret, or ed25519 with a key pair",
      .immutable)
    description = read.text("description", ColumnRule(.text(0...200)), "", "a note for operators")
    isEnabled = read.flag(
      "enabled", true, safe: false,
      "whether events are sent; the server disables a webhook that fails for days", .listed)
  }

  package static let words = RecordWords(
    command: "webhook", type: "Webhook", one: "webhook", many: "webhooks", app: .selection,
    "A URL that gets the events of an app.",
    consequence: "Deliveries that wait are not sent.")

  package static let shownOnce: String? =
    "the secret (whsec_) that verifies deliveries, or the public key (whpk_); shown once"

  package static let extras = [
    ExtraMember(
      "starts_at", .time,
      "when all workers know its types, in the answer to a request that names types"),
    ExtraMember(
      "lag_seconds", .seconds,
      "the age of the oldest event that it has still to get, in the answer to a read of it alone"),
  ]

  package static let table = RecordTable<WebhookRecord>(
    "webhooks", key: "webhook_id", own: [.sealed("secret")], order: "r.created_at, r.webhook_id",
    .init(
      list: "webhooks.list", show: "webhooks.show", lock: "webhooks.lock", insert: "webhooks.add",
      change: "webhooks.change", delete: "webhooks.remove"))

  /// The types that it gets.
  package var eventTypes: EventTypes { EventTypes(chosen: types) }

  /// The names of these types.
  var typeNames: TextArray { TextArray(eventTypes.names) }
}

// MARK: Verbs

extension WebhookRecord {
  package static var taken: Failure { .tooManyWebhooks }

  /// The most webhooks of an app.
  package static let most = 20

  @EventLoop package static func check(
    _ record: WebhookRecord, _ key: String, in app: AppID?, _ transaction: Transaction
  ) async throws(Failure) {
    guard let app else { return }
    let others = try await table.others(than: key, in: app, transaction)
    guard others.count < most else { throw .tooManyWebhooks(limit: most) }
    guard !others.contains(where: { $0.url.hasSameBytes(as: record.url) }) else {
      let rule = "Another webhook of the app has this URL. It can get several types."
      throw .invalid([FieldError("/url", "taken", rule)])
    }
  }

  @EventLoop package static func secrets(
    of record: WebhookRecord, _ patch: JSONObject, _ key: String, in app: AppID?, isNew: Bool,
    _ context: RequestContext
  ) throws(Failure) -> RecordSecrets {
    var secrets = RecordSecrets()
    guard isNew, let app else { return secrets }
    let keys = WebhookKeys(record.signature)
    secrets.stored["secret"] = .some(try keys.sealed(for: key, in: app, context.keys.master))
    secrets.shown = keys.shown
    return secrets
  }

  @EventLoop package static func find(
    _ key: String, of app: AppID?, _ context: RequestContext
  ) async throws(Failure) -> Webhook {
    var webhook = try await table.find(key, of: app, context)
    let status = try await Webhooks.status(of: webhook, context)
    webhook.extras["lag_seconds"] = .number(JSONNumber(status?.lag ?? 0))
    return webhook
  }

  @EventLoop package static func create(
    _ members: JSONObject, in app: AppID?, _ context: RequestContext
  ) async throws(Failure) -> Webhook {
    try checkNew(members, context)
    var webhook = try await table.create(members, in: app, context)
    webhook.extras["starts_at"] = start(context)
    return webhook
  }

  @EventLoop package static func change(
    _ key: String, of app: AppID?, by patch: RecordPatch, if condition: VersionCondition,
    _ context: RequestContext
  ) async throws(Failure) -> Webhook {
    try checkNew(patch.members, context)
    var changed = try await table.change(key, of: app, by: patch, if: condition, context)
    if patch.members["types"] != nil { changed.extras["starts_at"] = start(context) }
    if ["url", "enabled"].contains(where: { patch.members[$0] != nil }), changed.isEnabled {
      _ = try await context.write(WebhookQueries.revive, changed.key)
    }
    return changed
  }

  /// Returns the time from which on all workers know a change that is made now.
  @EventLoop private static func start(_ context: RequestContext) -> JSON {
    .string(Timestamp.now.later(by: context.apps.settling).text)
  }

  /// Checks new values; stored ones may be of a time with other settings.
  ///
  /// - Throws: `.urlNotAllowed`, `.unknownEventType`.
  @EventLoop private static func checkNew(
    _ members: JSONObject, _ context: RequestContext
  ) throws(Failure) {
    try ReceiverURL.check(members["url"], allows: context.webhookCalls.allows)
    try EventTypes.check(members["types"])
    if members["types"]?.array?.isEmpty == true { throw .noEventType }
  }

  /// Gives a webhook a new key; the key before signs too for a day.
  ///
  /// - Returns: the webhook with the new secret.
  /// - Throws: `.notFound`, `.databaseUnavailable`.
  @EventLoop package static func rotateSecret(
    of key: String, in app: AppID, _ context: RequestContext
  ) async throws(Failure) -> Webhook {
    _ = try await table.find(key, of: app, context)
    var shown = ""
    var webhook = try await context.transaction { transaction async throws(Failure) in
      guard let before = try await transaction.run(table.statements.lock, app.text, key).first
      else { throw .notFound }
      var keys = try before.keys(context.keys.master)
      keys.rotate(at: Timestamp.now.seconds)
      let sealed = BinaryBytes(try keys.sealed(for: key, in: app, context.keys.master))
      _ = transaction.send(WebhookQueries.setSecret, key, sealed)
      Event("webhook_secret_rotate", detail: ["webhook_id": .string(key)])
        .record(in: transaction, app: app)
      shown = keys.shown
      return try await transaction.run(table.statements.show, app.text, key)
    }.first.orUnforeseen("a webhook with a new secret")
    webhook.newSecret = shown
    return webhook
  }
}

extension WebhookKeys {
  fileprivate func sealed(
    for key: String, in app: AppID, _ master: MasterKey
  ) throws(Failure) -> [UInt8] {
    try master.sealed(stored, as: "webhook \(app) \(key)")
  }
}

extension Stored<WebhookRecord> {
  /// Returns its keys.
  ///
  /// - Throws: `.internalError` if this master key does not decrypt them.
  @EventLoop func keys(_ master: MasterKey) throws(Failure) -> WebhookKeys {
    guard
      let keys = sealed.flatMap({ master.opened($0, as: "webhook \(app) \(key)") })
        .flatMap({ WebhookKeys(stored: $0) })
    else {
      throw .internalError(reason: "this master key does not decrypt the keys of webhook \(key)")
    }
    return keys
  }
}

// MARK: Of an app

extension WebhookRecord: FeedConsumer {}

package typealias AppWebhooks = AppConsumers<WebhookRecord>

extension App {
  package var webhooks: [Webhook] { part(AppWebhooks.self)?.all ?? [] }
}

extension Failure {
  package static let tooManyWebhooks = Failure("too_many_webhooks", .conflict)
    .titled("The app has the maximum number of webhooks.")
    .remedied("Delete one: DELETE /v1/webhooks/{webhook}. One webhook can get many types.")
  package static let replayExpired = Failure("replay_expired", .gone)
    .titled("Events of that time were removed.")
    .remedied("Events are kept for event_feed_days. Read all users again, then replay from oldest.")
}
