import ArgumentParser
import Declarations
import EventLoop
import HTTP
import JSON
@testable import ManagementWire
import Postgres
@testable import RESTWire
import Records
import Representations
import Runtime
import Tenancy
import TestSupport
import Testing
import WireKit
@testable import CommandKit
@testable import dossier

/// A record as a stranger would add it; its table is made by the test.
struct Lantern: OwnedRecord {
  let name: String
  let isLit: Bool

  init(_ read: inout RecordReader) {
    name = read.requiredText("name", .slug, "the name of the lantern", .immutable, .example("red"))
    isLit = read.flag("lit", false, safe: true, "whether it gives light", .auth0("is_lit"))
  }

  static let words = RecordWords(
    command: "lantern", type: "Lantern", one: "lantern", many: "lanterns", app: .selection,
    "A lantern of the garden.", consequence: "The garden is dark.")
  static let table = RecordTable<Lantern>(
    "lanterns", key: "name", own: [.text("name")],
    .init(
      list: "lanterns.list", show: "lanterns.show", lock: "lanterns.lock",
      insert: "lanterns.insert", change: "lanterns.change", delete: "lanterns.delete"))
  static var taken: Failure { .issuerExists }
  static func key(of new: JSONObject) -> String { new["name"]?.string ?? "" }
}

extension Lantern: CommandRecord {}

/// REST with the routes of lanterns only.
private struct LanternWire: Wire {
  private let rest = RESTWire()
  var routes: [Route] { RecordResource<Lantern>.operations().map(\.route) }
  var prefixes: [String] { rest.prefixes }
  var fields: [FieldName] { rest.fields }
  @EventLoop func app(of call: Call) -> AppReference { rest.app(of: call) }
  @EventLoop func response(to failure: Failure, of call: Call) -> Response {
    rest.response(to: failure, of: call)
  }
  func page(for failure: Failure, at prefix: String) -> WebServerPage {
    rest.page(for: failure, at: prefix)
  }
}

/// One declared column goes through all outputs.
struct RecordTests {
  init() { LoopThread.start() }

  @Test @EventLoop func `a declared column is stored, sent, typed, audited and shown to Auth0`()
    async throws
  {
    let cast = try await TestService.shared.value.get().cast()
    let connection = try await Connection.open(
      .patient(cast.world.conninfo, applicationName: "lanterns"))
    defer { connection.close() }
    _ = try await connection.script(
      """
      create table if not exists lanterns (
        app_id text collate "C" not null references apps on delete cascade,
        name text not null, version bigint not null default 1,
        created_at timestamptz not null default now(), attributes jsonb not null default '{}',
        primary key (app_id, name))
      """)
    let service = cast.world.service(of: [LanternWire()])

    func send(
      _ method: HTTP.Method, _ path: String, _ body: JSONObject? = nil, ifMatch: String? = nil
    ) async -> TestResponse {
      var question = TestRequest(method, "/v1/lanterns" + path)
      question.fields[.app] = cast.app
      question.fields[.ifMatch] = ifMatch
      if let body { question.send(JSON.object(body).text) }
      if method == .patch { question.fields[.contentType] = MediaType.mergePatch.rawValue }
      return await cast.world.ask(question, of: service, byOperator: true)
    }

    // The command line types it.
    typealias Command = RecordCommand<Lantern>
    let create = try Command.Create<Lantern>.parse(["red", "lit=true"])
    let made = await send(.post, "", try create.body(in: cast.app))
    #expect(made.status == 201 && made[.location] == "/v1/lanterns/red", "\(made)")
    #expect(made.json["lit"] == true && made.json["app"] == .string(cast.app))
    #expect(await send(.post, "", try create.body(in: cast.app)).code == "issuer_exists")
    let set = try Command.Set<Lantern>.parse(["red", "lit=null"])
    #expect(set.record.path(of: set.record.key) == "/v1/lanterns/red")
    let patch = try Lantern.table.shape.patch(of: set.attributes)
    #expect(await send(.patch, "/red", patch, ifMatch: "\"7\"").code == "precondition_failed")
    let changed = await send(.patch, "/red", patch, ifMatch: "\"1\"")
    #expect(changed.json["lit"] == false && changed.json["version"] == 2, "\(changed)")
    let wrong = await send(.patch, "/red", JSONObject([("lit", "maybe")]))
    #expect(wrong.status == 422 && wrong.text.contains("/lit"), "\(wrong)")
    _ = await send(.patch, "/red", JSONObject([("lit", true)]))
    #expect(await send(.get, "/red").json["lit"] == true)
    #expect(await send(.get, "").json.array?.first?["lit"] == true)

    // The table stores it without a column of its own.
    let rows = try await connection.script(
      "select attributes ->> 'lit', name, version from lanterns"
    ).first?.rows
    #expect(rows == [["true", "red", "3"]])
    // Auth0's API has it under its own name.
    let stored = try await Lantern.table.find("red", of: nil, cast.world.operatorContext)
    #expect(RecordObject.members(of: stored).map(\.0) == ["is_lit"])
    #expect(RecordObject.members(of: stored).map(\.1) == [true])

    // The last event has the value before and after.
    let events = try await connection.script(
      """
      select action, detail ->> 'lit', detail -> 'before' ->> 'lit' from audit
      where detail ->> 'lantern_id' = 'red' order by event_id
      """
    ).first?.rows
    #expect(
      events == [
        ["lantern_create", "true", nil], ["lantern_change", nil, "true"],
        ["lantern_change", "true", nil],
      ])
    #expect(await send(.delete, "/red").status == 204)
    #expect(await send(.get, "/red").code == "not_found")
  }

  @Test func `a declared Boolean has a shape, a default and an example in the reference`() {
    let shown = Lantern.shape.schema["properties"]?["lit"]
    #expect(shown?["type"] == "boolean")
    #expect(shown?["description"] == "whether it gives light")
    #expect(Lantern.description.schema["required"] == ["name"])
    #expect(Lantern.description.schema["examples"] == [["name": "red"]])
    // The name cannot change.
    #expect(Lantern.patch.schema["properties"]?.object?.keys == ["lit"])
  }

  @Test func `faults name the column and the rule`() {
    func faults(_ patch: JSON, of stored: JSONObject? = nil) -> [String] {
      Lantern.table.shape.change(of: stored, by: patch.object ?? JSONObject()).faults
        .map { "\($0.place) \($0.code)" }
    }
    #expect(faults(["name": "red", "lit": true]) == [])
    #expect(faults(["lit": 1]) == ["/lit type", "/name missing"])
    #expect(faults(["name": "Red", "a/b": 1]) == ["/name name", "/a~1b unknown_member"])
    let red = JSONObject([("name", "red")])
    #expect(faults(["name": "green"], of: red) == ["/name immutable"])
    #expect(faults(["name": "red", "lit": .null], of: red) == [])
    #expect(faults(["name": .null], of: red) == ["/name immutable"])
  }

  @Test func `a change shows what differs, and the audit event has both values`() {
    let stored = JSONObject([("name", "red"), ("lit", true)])
    let change = Lantern.table.shape.change(of: stored, by: JSONObject([("lit", .null)]))
    #expect(change.differences == ["lit"])
    #expect(change.audited["lit"] == .null)
    #expect(change.auditedBefore["lit"] == true)
    #expect(Lantern.table.shape.change(of: stored, by: JSONObject()).differences == [])
  }

  @Test func `Auth0's name of a column is read, shown and named in errors`() {
    #expect(RecordObject<Lantern>.column(of: "is_lit")?.name == "lit")
    #expect(RecordObject<Lantern>.column(of: "lit") == nil)
    #expect(RecordObject<Lantern>.renamed("/lit") == "/is_lit")
    #expect(RecordObject<Lantern>.renamed("/name") == "/name")
  }

  @Test func `an unreadable value is replaced by the safe one`() {
    var reader = RecordReader(JSONObject([("name", "red"), ("lit", "yes")]))
    #expect(Lantern(&reader).isLit)
    #expect(reader.misfits == ["lit"])
    var unreadable = RecordReader(nil)
    #expect(Lantern(&unreadable).isLit)
  }
}
