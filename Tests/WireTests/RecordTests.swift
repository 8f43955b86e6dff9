import Declarations
import EventLoop
import HTTP
import JSON
@testable import ManagementWire
import Postgres
import Records
import Representations
import Runtime
import Tenancy
import TestSupport
import Testing

/// A record as a stranger would add it; its table is made by the test.
struct Lantern: OwnedRecord {
  let name: String
  let isLit: Bool

  init(_ read: inout RecordReader) {
    name = read.requiredText("name", .slug, "the name of the lantern", .immutable, .example("red"))
    isLit = read.flag("lit", false, safe: true, "whether it gives light", .auth0("is_lit"))
  }

  static let words = RecordWords(
    command: "lantern", type: "Lantern", one: "lantern", many: "lanterns", isOfNamedApp: true,
    "A lantern of the garden.", consequence: "The garden is dark.")
  static let table = RecordTable<Lantern>(
    "lanterns", key: "name", own: [.text("name")],
    .init(
      list: "lanterns.list", show: "lanterns.show", lock: "lanterns.lock",
      insert: "lanterns.insert", change: "lanterns.change", delete: "lanterns.delete"))
  static var taken: Failure { .issuerExists }
  static func key(of new: JSONObject) -> String { new["name"]?.string ?? "" }
}

/// One declared column goes through all outputs.
struct RecordTests {
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
