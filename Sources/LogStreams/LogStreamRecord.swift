import Encoding
package import EventLoop
package import Events
package import JSON
import Outbound
import Postgres
package import Records
package import Runtime
package import Tenancy

/// A consumer that sends the events of an app to a log system.
package typealias LogStream = Stored<LogStreamRecord>

/// The attributes of a log stream, as an operator sets them.
package struct LogStreamRecord: OwnedRecord {
  /// Where a stream sends events.
  package enum Kind: String, CaseIterable, Sendable {
    /// Lines of JSON to a URL.
    case http
    /// Messages to the syslog of the host.
    case syslog
    /// Lines in the log of a worker.
    case file
  }

  package let name: String
  package let kind: Kind
  package let url: String?
  let headerName: String?
  let givesValue: Bool
  package let types: [String]
  package let description: String
  package let isEnabled: Bool

  package init(_ read: inout RecordReader) {
    name = read.requiredText(
      "name", .slug, "the name of the stream, which lines of the log have", .example("siem"))
    kind = read.choice(
      "kind", .http, safe: .http,
      "where events go: http, a URL; syslog, the syslog of the host; file, the log of a worker",
      .required, .immutable, .listed, .example("http"))
    url = read.optional(
      "url", ColumnRule(.text(1...ReceiverURL.longest)),
      "the URL that gets lines of JSON, for http",
      .example("https://logs.example.com/ingest"), read: \.string)
    headerName = read.optional(
      "header_name", .headerName,
      "the header field that authenticates Dossier at the URL, such as Authorization",
      read: \.string)
    let value = read.optional(
      "header_value", .headerValue, "the value of that header field", .secret, read: \.string)
    givesValue = value != nil
    types = read.texts(
      "types", .eventTypes,
      "the types of the events; user.* stands for a group; none for all but changes of data",
      .example(["user.*", "login.failed"]))
    description = read.text("description", ColumnRule(.text(0...200)), "", "a note for operators")
    isEnabled = read.flag(
      "enabled", true, safe: false,
      "whether events are sent; a disabled stream keeps its position", .listed)
  }

  package static let words = RecordWords(
    command: "log-stream", type: "LogStream", one: "log stream", many: "log streams",
    app: .selection, "A consumer that sends the events of an app to a log system.",
    consequence: "Events that it has not sent are not sent.")

  package static let derived = [
    DerivedMember<LogStreamRecord>(
      "has_header_value", ColumnRule(.flag), isListed: false, "whether it has a header_value"
    ) { .bool($0.sealed != nil) }
  ]

  package static let table = RecordTable<LogStreamRecord>(
    "log_streams", key: "stream_id", own: [.sealed("header_value")],
    order: "r.created_at, r.stream_id",
    .init(
      list: "log_streams.list", show: "log_streams.show", lock: "log_streams.lock",
      insert: "log_streams.add", change: "log_streams.change", delete: "log_streams.remove"))

  /// The types that it gets.
  package var eventTypes: EventTypes { types.isEmpty ? .usual : EventTypes(chosen: types) }
}

// MARK: Rules

extension ColumnRule {
  /// Header fields that decide about the message, and not about its sender.
  private static let reserved: Set<String> = [
    "accept", "connection", "content-encoding", "content-length", "content-type", "cookie", "date",
    "expect", "host", "keep-alive", "te", "trailer", "transfer-encoding", "upgrade", "user-agent",
  ]

  fileprivate static let headerName = ColumnRule.text(
    1...64, "header",
    "This must be the name of a header field of letters, digits and hyphens, such as Authorization."
  ) { name in
    name.utf8.allSatisfy { $0.isLetterOrDigit || $0 == UInt8(ascii: "-") }
      && !reserved.contains(name.lowercased()) && !name.lowercased().hasPrefix("proxy-")
  }

  fileprivate static let headerValue = ColumnRule.text(
    1...2_048, "header", "This must be visible ASCII, with spaces only between other characters."
  ) { value in
    value.utf8.allSatisfy { $0.isVisible || $0 == UInt8(ascii: " ") }
      && value.utf8.first != UInt8(ascii: " ") && value.utf8.last != UInt8(ascii: " ")
  }
}

extension LogStreamRecord {
  package static var taken: Failure { .tooManyLogStreams }

  /// The most log streams of an app.
  package static let most = 5

  package static func faults(
    in record: LogStreamRecord, _ change: RecordChange, of stored: LogStream?
  ) -> [ColumnFault] {
    var faults: [ColumnFault] = []
    func require(_ name: String, _ isValid: Bool, _ reason: String) {
      if !isValid { faults.append(ColumnFault("/\(name)", "missing", reason)) }
    }
    func forbid(_ name: String, _ isThere: Bool) {
      guard isThere else { return }
      faults.append(ColumnFault("/\(name)", "kind", "Only streams of the kind http have this."))
    }
    let keepsValue = stored?.sealed != nil && change.patch["header_value"] == nil
    let hasValue = record.givesValue || keepsValue
    guard record.kind == .http else {
      forbid("url", record.url != nil)
      forbid("header_name", record.headerName != nil)
      forbid("header_value", hasValue)
      return faults
    }
    require("url", record.url != nil, "A stream of the kind http needs a URL.")
    require(
      "header_name", record.headerName != nil || !hasValue, "The value needs a header field.")
    require("header_value", hasValue || record.headerName == nil, "The header field needs a value.")
    if keepsValue, let stored, record.url != stored.url || record.headerName != stored.headerName {
      let reason = "The value would go to another place than before. Send it again."
      require("header_value", false, reason)
    }
    return faults
  }

  @EventLoop package static func check(
    _ record: LogStreamRecord, _ key: String, in app: AppID?, _ transaction: Transaction
  ) async throws(Failure) {
    guard let app else { return }
    let others = try await table.others(than: key, in: app, transaction)
    guard others.count < most else { throw .tooManyLogStreams(limit: most) }
    guard !others.contains(where: { $0.name.hasSameBytes(as: record.name) }) else {
      throw .invalid([FieldError("/name", "taken", "Another log stream of the app has this name.")])
    }
  }

  @EventLoop package static func secrets(
    of record: LogStreamRecord, _ patch: JSONObject, _ key: String, in app: AppID?, isNew: Bool,
    _ context: RequestContext
  ) throws(Failure) -> RecordSecrets {
    var secrets = RecordSecrets()
    if let app, let value = patch["header_value"] {
      secrets.stored["header_value"] = .some(
        try value.string.map { (text) throws(Failure) in
          try context.keys.master.sealed(Array(text.utf8), as: sealName(of: key, in: app))
        })
    }
    return secrets
  }

  fileprivate static func sealName(of key: String, in app: AppID) -> String {
    "log stream \(app) \(key)"
  }

  @EventLoop package static func create(
    _ members: JSONObject, in app: AppID?, _ context: RequestContext
  ) async throws(Failure) -> LogStream {
    try checkNew(members, context)
    return try await table.create(members, in: app, context)
  }

  @EventLoop package static func change(
    _ key: String, of app: AppID?, by patch: RecordPatch, if condition: VersionCondition,
    _ context: RequestContext
  ) async throws(Failure) -> LogStream {
    try checkNew(patch.members, context)
    let changed = try await table.change(key, of: app, by: patch, if: condition, context)
    // The new values may end the failures.
    let names = ["url", "enabled", "header_name", "header_value"]
    if changed.isEnabled, names.contains(where: { patch.members[$0] != nil }) {
      _ = try await context.write(LogStreamQueries.revive, changed.key)
    }
    return changed
  }

  /// Checks new values; stored ones may be of a time with other settings.
  ///
  /// - Throws: `.urlNotAllowed`, `.unknownEventType`.
  @EventLoop private static func checkNew(
    _ members: JSONObject, _ context: RequestContext
  ) throws(Failure) {
    try ReceiverURL.check(members["url"], allows: context.logStreamSender.allows)
    try EventTypes.check(members["types"])
  }
}

extension Stored<LogStreamRecord> {
  /// Returns the header field that authenticates Dossier; nil for none.
  ///
  /// - Throws: `.internalError` if this master key does not decrypt its value.
  @EventLoop func headerField(
    _ master: MasterKey
  ) throws(Failure) -> (name: String, value: String)? {
    guard let sealed, let name = record.headerName else { return nil }
    let place = LogStreamRecord.sealName(of: key, in: AppID(trusted: app))
    guard let value = master.opened(sealed, as: place) else {
      throw .internalError(
        reason: "this master key does not decrypt the header of log stream \(key)")
    }
    return (name, String(decoding: value, as: UTF8.self))
  }
}

// MARK: Of an app

extension LogStreamRecord: FeedConsumer {}

package typealias AppLogStreams = AppConsumers<LogStreamRecord>

extension App {
  package var logStreams: [LogStream] { part(AppLogStreams.self)?.all ?? [] }
}

extension Failure {
  package static let tooManyLogStreams = Failure("too_many_log_streams", .conflict)
    .titled("The app has the maximum number of log streams.")
    .remedied("Delete one: DELETE /v1/log-streams/{log_stream}. One stream can get all types.")
}
