import Accounts
import Changes
import Declarations
import Documents
import EventLoop
import HTTP
import JSON
import Representations
import Runtime
import Sessions
import Streams
import WireKit

/// `/v1/me/changes` and `/v1/me/events`.
@EventLoop enum ChangesResource {
  nonisolated static let operations: [Operation] = [
    Operation(
      .get, "/v1/me/changes", access: .user(scope: Scopes.readUser),
      takes: .query(.since, .include), versions: .read, gives: [.ok(.changes)],
      refuses: [.cursorInvalid],
      summary: "Read which parts of the user have changed since an earlier answer", read),
    Operation(
      .get, "/v1/me/events", access: .user(scope: Scopes.readUser), takes: .query(.since),
      gives: [
        Answer(
          status: .ok,
          says: "Server-sent events. ready comes first. change has the parts, as changed of "
            + "/v1/me/changes. end has the reason of the end of the session. After reconnect the "
            + "client connects again. The id of an event is a cursor.",
          shape: nil, types: [.eventStream])
      ],
      refuses: [.cursorInvalid],
      summary: "Receive the changes of the user as they happen, as a stream", stream),
  ]

  /// The greatest length of a value in the answer, in bytes.
  private static let valueLimit = 65_536
  private static let pollSeconds = 30

  private static func read(_ call: Call) async throws(Failure) -> Response {
    let (user, context) = (try call.user, call.context)
    let (since, withValues) = try parameters(of: call)
    let known = try since.map { (text) throws(Failure) in
      try Self.state(in: text, of: user, context)
    }
    let state = try await UserChanges.state(of: user, context)
    let parts = known.map(state.parts) ?? []
    let values = withValues ? try await values(of: parts, user, call) : [:]
    var changed = state.changed(parts)
    for (part, value) in values {
      guard var members = changed[part.rawValue]?.object else { continue }
      members["value"] = value
      changed[part.rawValue] = .object(members)
    }
    let cursor = UserChanges.cursor(of: state, of: user, context.keys.master)
    let body: JSON = [
      "cursor": .string(cursor), "changed": .object(changed),
      "poll_after_seconds": .number(JSONNumber(pollSeconds)),
    ]
    return Response(.ok, json: body.serialized(), tag: EntityTag(state.tag))
  }

  private static func state(
    in cursor: String, of user: UserID, _ context: RequestContext
  ) throws(Failure) -> UserState {
    guard let state = UserChanges.state(in: cursor, of: user, context.keys.master) else {
      throw .cursorInvalid
    }
    return state
  }

  /// Hands the client over to `dossier-streams`, which nginx connects it to.
  private static func stream(_ call: Call) async throws(Failure) -> Response {
    let (user, context) = (try call.user, call.context)
    let query = try ListQuery.parameters(of: call.request.query)
    let unknown = query.names.filter { $0 != "since" }.map { name in
      FieldError(ofParameter: name, "query", "The query may have only since.")
    }
    guard unknown.isEmpty else { throw .invalid(unknown) }
    if let cursor = query["since"] { _ = try state(in: cursor, of: user, context) }
    // The statement also checks that the session is live.
    _ = try await UserChanges.state(of: user, context)
    guard let session = context.principal.session,
      let expiresAt = AccessTokens.claimedExpiry(of: try call.request.bearerToken)
    else { throw .tokenInvalid }
    let subject = StreamTicket.UserSubject(
      user: user, session: session, cursor: query["since"],
      hidesAppMetadata: !DocumentKind.appMetadata.isReadable(context), expiresAt: expiresAt)
    return try Response(handingOver: StreamTicket(.user(subject)), context)
  }

  private static func parameters(
    of call: Call
  ) throws(Failure) -> (since: String?, withValues: Bool) {
    let query = try ListQuery.parameters(of: call.request.query)
    var faults = query.names.filter { $0 != "since" && $0 != "include" }.map { name in
      FieldError(ofParameter: name, "query", "The query may have only since and include.")
    }
    if let include = query["include"], include != "values" {
      faults.append(FieldError(ofParameter: "include", "include", "include must be values."))
    }
    guard faults.isEmpty else { throw .invalid(faults) }
    return (query["since"], query["include"] != nil)
  }

  /// Returns the values of parts that have one, as their own routes return them.
  ///
  /// A value may be newer than the state; the next answer then names it again.
  private static func values(
    of parts: [UserPart], _ user: UserID, _ call: Call
  ) async throws(Failure) -> [UserPart: JSON] {
    let context = call.context
    var batch = ReadBatch()
    let profile = parts.contains(.profile) ? Profiles.addRead(of: user, to: &batch, context) : nil
    let properties =
      parts.contains(.properties) ? Properties.addRead(of: user, to: &batch, context) : nil
    var documents: [(UserPart, @EventLoop (BatchResults) async throws(Failure) -> StoredDocument)] =
      []
    for kind in DocumentKind.allCases {
      guard let part = UserPart(rawValue: kind.rawValue), parts.contains(part) else { continue }
      documents.append((part, try Documents.addRead(kind, of: user, to: &batch, context)))
    }
    guard profile != nil || properties != nil || !documents.isEmpty else { return [:] }
    let results = try await context.read(batch)
    var values: [UserPart: JSON] = [:]
    values[.profile] = try profile?(results).json
    for (part, document) in documents {
      let body = try await document(results).body
      if body.count <= valueLimit { values[part] = try Documents.parsed(body) }
    }
    if let all = try properties?(results).values {
      let value = JSON.object(all)
      if value.serialized().count <= valueLimit { values[.properties] = value }
    }
    return values
  }
}

extension MediaType {
  static let eventStream = MediaType(rawValue: "text/event-stream")
}

extension Response {
  /// Hands the client over to `dossier-streams`, which the web server connects it to.
  ///
  /// - Throws: `.internalError`.
  @EventLoop init(
    handingOver ticket: StreamTicket, _ context: RequestContext
  ) throws(Failure) {
    self.init(.ok)
    add(.contentType, MediaType.eventStream.rawValue)
    add(.cacheControl, literal: "no-store")
    add(.internalRedirect, try ticket.path(context.keys.master))
  }
}

extension FieldName {
  /// The path within nginx to which it passes the request; no client gets this field.
  fileprivate static let internalRedirect = FieldName("X-Accel-Redirect")
}

extension QueryParameter {
  fileprivate static let since = QueryParameter(
    name: "since", says: "the cursor of an earlier answer; without it, nothing has changed",
    shape: .text(1...300).like(.string(Example.changesCursor)), component: "changes_since")
  fileprivate static let include = QueryParameter(
    name: "include",
    says: "values adds profile, documents and properties that have changed, up to 64 KiB each",
    shape: .choice(["values"]))
}

extension Shape {
  fileprivate static let changes = Shape.object([
    "cursor": .text.saying("the state that the answer describes, for since")
      .like(.string(Example.changesCursor)),
    "changed": Shape.object(
      optional: UserPart.allCases.map { (key: $0.rawValue, value: part) }
    ).named("ChangedParts", "The parts of a user that have changed.")
      .like(["metadata": ["version": 13], "sessions": [:]]),
    "poll_after_seconds": .count.saying("how long a client waits before it asks again").like(30),
  ]).named("Changes", "The parts of a user that have changed, and the new state.")

  private static let part = Shape.object(
    [:],
    optional: [
      "version": .count.saying("of the profile or a document, as its ETag").like(13),
      "value": Shape.members.saying("with include=values, as the route of the part returns it"),
    ]
  ).named("ChangedPart", "A part of a user that has changed.")
}
