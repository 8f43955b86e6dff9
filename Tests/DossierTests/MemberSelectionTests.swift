@testable import Documents
import JSON
import Runtime
import Testing

@Suite struct MemberSelectionTests {
  private func selection(_ places: JSON...) throws -> MemberSelection {
    try #require(MemberSelection(setting: .array(places)))
  }

  private func object(_ text: String) throws -> JSONObject {
    try #require(try JSON.parse(Array(text.utf8)).object)
  }

  @Test func `a setting is all, none or places`() throws {
    #expect(MemberSelection(setting: true) == .all)
    #expect(MemberSelection(setting: false) == MemberSelection.none)
    #expect(try selection().isNone)
    // A place contains the places inside, in any order.
    #expect(try selection("/a", "/a/b") == selection("/a"))
    #expect(try selection("/a/b", "/a") == selection("/a"))
    #expect(try selection("/a~1b") != selection("/a/b"))
    // Keys are bytes: these two look the same.
    #expect(try selection("/\u{e9}") != selection("/e\u{301}"))
  }

  @Test(
    arguments: [
      .null, "/a", 1, [""], ["a"], [1], ["/"], ["/a/"], ["/a//b"], ["/list/0"], ["/list/0/name"],
      ["/~2"],
    ] as [JSON]
  )
  func `a setting that can select nothing is refused`(_ setting: JSON) {
    #expect(MemberSelection(setting: setting) == nil)
  }

  @Test func `a setting is bounded`() {
    #expect(MemberSelection(setting: .array(Array(repeating: "/a", count: 100))) != nil)
    #expect(MemberSelection(setting: .array(Array(repeating: "/a", count: 101))) == nil)
    let deepest = String(repeating: "/a", count: 16)
    #expect(MemberSelection(setting: [.string(deepest)]) != nil)
    #expect(MemberSelection(setting: [.string(deepest + "/a")]) == nil)
  }

  @Test func `an intersection has what both name`() throws {
    let some = try selection("/a", "/b/c", "/b/d", "/e")
    #expect(some.intersection(.all) == some && MemberSelection.all.intersection(some) == some)
    #expect(some.intersection(.none).isNone && MemberSelection.none.intersection(some).isNone)
    let other = try selection("/a/x", "/b/c", "/f")
    #expect(try some.intersection(other) == selection("/a/x", "/b/c"))
    #expect(try other.intersection(some) == selection("/a/x", "/b/c"))
    #expect(try selection("/b/c").intersection(selection("/b/d")).isNone)
  }

  @Test func `an included member is selected as a whole`() throws {
    #expect(try selection("/a/b").including(["a", "_id"]) == selection("/a", "/_id"))
    #expect(MemberSelection.all.including(["a"]) == .all)
  }

  @Test(arguments: [
    (#"{"a":1,"b":{"c":2,"d":3},"z":4}"#, #"{"a":1,"b":{"c":2}}"#),
    // An object that has only hidden members is hidden; an empty one is not.
    (#"{"b":{"d":3}}"#, "{}"), (#"{"b":{}}"#, #"{"b":{}}"#),
    // Places lead through objects only.
    (#"{"b":[{"c":2}],"a":[{"x":1}]}"#, #"{"a":[{"x":1}]}"#), (#"{"b":2}"#, "{}"),
  ])
  func `a user sees the selected members`(_ stored: String, _ seen: String) throws {
    let selection = try selection("/a", "/b/c")
    #expect(try JSON.object(selection.visible(in: object(stored))) == .object(object(seen)))
  }

  @Test(arguments: [
    ("{}", #"{"a":1,"b":{"c":2,"d":3},"z":4}"#, #"{"b":{"d":3},"z":4}"#),
    (#"{"a":5,"b":{"c":6}}"#, #"{"b":{"d":3},"z":4}"#, #"{"a":5,"b":{"c":6,"d":3},"z":4}"#),
    ("{}", #"{"a":1,"b":{"c":2}}"#, "{}"), (#"{"b":{}}"#, #"{"b":{"c":2}}"#, #"{"b":{}}"#),
  ])
  func `hidden members stay in what a user writes`(
    _ written: String, _ before: String, _ result: String
  ) throws {
    let restored = try selection("/a", "/b/c").restored(object(written), from: object(before))
    #expect(try JSON.object(restored) == .object(object(result)))
  }

  @Test(arguments: [
    (#"{"z":1}"#, #"{"z":4}"#, "/z"), (#"{"b":{"d":1}}"#, #"{"b":{"d":3}}"#, "/b/d"),
    (#"{"b":{"c":1}}"#, #"{"b":"text"}"#, "/b"),
  ])
  func `a hidden member is not replaced`(_ written: String, _ before: String, _ place: String)
    throws
  {
    let failure = #expect(throws: Failure.self) {
      try selection("/a", "/b/c").restored(object(written), from: object(before))
    }
    #expect(failure?.is(.memberNotWritable) == true && failure?.faults.first?.place == place)
  }

  @Test(
    arguments: [
      (#"{"z":1}"#, #"{"a":1,"z":1}"#, nil), (#"{"b":{"c":1,"d":2}}"#, #"{"b":{"d":2}}"#, nil),
      ("{}", #"{"b":{"c":1}}"#, nil), (#"{"z":1}"#, #"{"z":1.0}"#, nil), (#"{"z":1}"#, "{}", "/z"),
      ("{}", #"{"z":1}"#, "/z"), (#"{"b":{"d":2}}"#, "{}", "/b/d"),
      (#"{"b":{"c":1}}"#, #"{"b":1}"#, "/b"),
      (#"{"z":{"y":[1]}}"#, #"{"z":{"y":[2]}}"#, "/z"),
    ] as [(String, String, String?)]
  )
  func `only selected members change`(_ before: String, _ after: String, _ place: String?) throws {
    let selection = try selection("/a", "/b/c")
    let (before, after) = try (JSON.object(object(before)), JSON.object(object(after)))
    guard let place else { return try selection.requireOnlyChanges(from: before, to: after) }
    let failure = #expect(throws: Failure.self) {
      try selection.requireOnlyChanges(from: before, to: after)
    }
    #expect(failure?.is(.memberNotWritable) == true && failure?.faults.first?.place == place)
  }
}
