import Accounts
import Administration
import Declarations
import EventLoop
import HTTP
import JSON
import Representations
import Runtime
import Tenancy
import Events
import WireKit

/// `/v1/search`, for API clients: one text for all that an app has.
@EventLoop enum SearchResource {
  nonisolated static let operations: [Operation] = [
    Operation(
      .get, "/v1/search", access: .client(scope: Scopes.readUsers), takes: .query(.text),
      gives: [.ok(.searchResult)], refuses: [.searchTooSlow],
      summary: "Find users by an id, an address, a name or a number, and other objects by their id",
      search
    )
  ]

  private static func search(_ call: Call) async throws(Failure) -> Response {
    let query = try ListQuery.parameters(of: call.request.query)
    if let other = query.names.first(where: { !$0.hasSameBytes(as: "q") }) {
      throw .invalid([FieldError(ofParameter: other, "query", "The query may have only q.")])
    }
    let text = query["q"] ?? ""
    guard text.utf8.count <= AppSearch.longest, !text.utf8.contains(0) else {
      let rule = "q must have at most \(AppSearch.longest) bytes."
      throw .invalid([FieldError(ofParameter: "q", "length", rule)])
    }
    let found = try await AppSearch.run(for: text, call.context)
    if !found.members.isEmpty {
      try await Audit.recordSearch(by: found.members, call.context)
    }
    let names = try await AuditNames.read(of: found.events, call.context)
    let body: JSON = [
      "users": .array(found.users.map(\.json)), "sessions": .array(found.sessions.map(\.json)),
      "devices": .array(found.devices.map(\.json)), "clients": .array(found.clients.map(\.json)),
      "events": .array(
        found.events.map {
          $0.shown(to: call.context.principal).json(with: names)
        }),
    ]
    return Response(.ok, json: body.serialized())
  }
}

extension FoundSession {
  fileprivate var json: JSON {
    [
      "id": .string(id.text), "user_id": .string(user.text), "device_id": .string(device.text),
      "created_at": .string(createdAt.text), "expires_at": .string(expiresAt.text),
      "ended_at": JSON(endedAt),
    ]
  }
}

extension FoundDevice {
  fileprivate var json: JSON {
    [
      "id": .string(id.text), "created_at": .string(createdAt.text),
      "last_seen_at": .string(lastSeenAt.text),
    ]
  }
}

extension FoundClient {
  fileprivate var json: JSON {
    ["id": .string(id.text), "name": .string(name), "kind": .string(kind)]
  }
}

extension QueryParameter {
  fileprivate static let text = QueryParameter(
    name: "q",
    says: "an id; an address or its start; @ and a domain; the start of a number; words of a name",
    shape: .text(0...AppSearch.longest).like("@example.org"))
}

extension Shape {
  fileprivate static let searchResult = Shape.object([
    "users": .list(of: .profile, atMost: AppSearch.most),
    "sessions": .list(of: foundSession).saying("the session with the id, also an ended one")
      .like([]),
    "devices": .list(of: foundDevice).saying("the device with the id").like([]),
    "clients": .list(of: foundClient).saying("the client with the id, for operators").like([]),
    "events": .eventsOfApps.saying("the event with the id, with the scope read:logs_users")
      .like([]),
  ]).named("SearchResult", "The objects that a text finds, at most 20 of each kind.")

  private static let foundSession = Shape.object([
    "id": .id(Example.session), "user_id": .id(Example.ada), "device_id": .id(Example.device),
    "created_at": .time(Example.registered), "expires_at": .time(Example.forgotten),
    "ended_at": .time(Example.played).orNull.like(.null),
  ]).named("FoundSession", "A session, also one that has ended.")

  private static let foundDevice = Shape.object([
    "id": .id(Example.device), "created_at": .time(Example.registered),
    "last_seen_at": .time(Example.played),
  ]).named("FoundDevice", "A device.")

  private static let foundClient = Shape.object([
    "id": .text.like(.string(Example.client)), "name": .text.like("nightly-report"),
    "kind": .text.like("machine"),
  ]).named("FoundClient", "A client.")
}
