import JSON
import Runtime
import Testing

@testable import Documents

/// Tests the document without the writes of one session.
struct SessionReplayTests {
  /// Replays versions, of which those of the session begin with `!`; "-" is no document.
  private func replay(_ versions: [String]) throws -> SessionReplay {
    func document(_ text: Substring) throws -> JSON? {
      text == "-" ? nil : try JSON.parse(Array(text.utf8), limits: .stored)
    }
    var replay = SessionReplay(try document(versions[0][...]))
    for version in versions.dropFirst() {
      if version.first == "!" {
        replay.passSession(to: try document(version.dropFirst()))
      } else {
        replay.pass(to: try document(version[...]), by: nil)
      }
    }
    return replay
  }

  private func text(_ json: JSON?) -> String {
    json.map { String(decoding: $0.serialized(), as: UTF8.self) } ?? "-"
  }

  private func conflicts(_ replay: SessionReplay) -> [String] {
    replay.standingConflicts.map { "\($0.pointer) \(text($0.now)) \(text($0.before))" }
  }

  @Test(arguments: [
    (["{}", #"!{"a":1}"#], "{}"),
    (["-", #"!{"a":1}"#], "-"),
    (["-", #"!{"a":1}"#, #"{"a":1,"b":2}"#], #"{"b":2}"#),
    ([#"{"a":1}"#, "!-"], #"{"a":1}"#),
    ([#"{"a":1}"#, "!-", #"{"b":2}"#], #"{"b":2,"a":1}"#),
    ([#"{"a":1,"b":1}"#, #"!{"a":2,"b":1}"#, #"{"a":2,"b":3}"#], #"{"a":1,"b":3}"#),
    ([#"{"a":1}"#, #"!{"a":2}"#, #"{"a":1}"#], #"{"a":1}"#),
    ([#"{"a":1}"#, #"!{"a":2}"#, #"{"a":3}"#, #"!{"a":4}"#], #"{"a":3}"#),
    (["{}", #"!{"a":{"x":1}}"#, #"{"a":{"x":1,"y":2}}"#], #"{"a":{"y":2}}"#),
    ([#"{"a":{"x":1}}"#, "!{}", #"{"a":{"y":2}}"#], #"{"a":{"y":2,"x":1}}"#),
    ([#"{"a":[1]}"#, #"!{"a":[1,2]}"#, #"{"a":[1,2],"b":1}"#], #"{"a":[1],"b":1}"#),
    ([#"{"a":null}"#, "!{}"], #"{"a":null}"#),
  ])
  func `only changes of the session are undone`(_ versions: [String], _ result: String) throws {
    let replay = try replay(versions)
    #expect(text(replay.without) == result)
    #expect(conflicts(replay) == [])
  }

  @Test func `a later change of the same member is a conflict`() throws {
    let replay = try replay([#"{"a":1}"#, #"!{"a":2,"b":1}"#, #"{"a":3,"b":1}"#])
    #expect(text(replay.without) == #"{"a":3}"#)
    #expect(conflicts(replay) == ["/a 3 1"])
  }

  @Test func `a member that another writer removed is a conflict`() throws {
    #expect(conflicts(try replay(["{}", #"!{"a":2}"#, "{}"])) == [])
    #expect(conflicts(try replay([#"{"a":1}"#, #"!{"a":2}"#, "{}"])) == ["/a - 1"])
    #expect(conflicts(try replay([#"{"a":1}"#, #"!{"a":2}"#, "-"])) == ["/a - 1"])
  }

  @Test func `a conflict ends if its value is restored or cannot be set`() throws {
    let restored = try replay([#"{"a":1}"#, #"!{"a":2}"#, #"{"a":3}"#, #"{"a":1}"#])
    #expect(conflicts(restored) == [])
    let scalar = try replay(
      [#"{"a":{"x":1}}"#, #"!{"a":{"x":2}}"#, #"{"a":{"x":3}}"#, #"{"a":7}"#])
    #expect(conflicts(scalar) == [])
    #expect(text(scalar.without) == #"{"a":7}"#)
  }

  @Test func `a document with a very large number of conflicts lists some`() throws {
    let before = (0..<150).map { #""k\#($0)":0"# }.joined(separator: ",")
    let session = before.replacing(":0", with: ":1")
    let later = before.replacing(":0", with: ":2")
    let replay = try replay(["{\(before)}", "!{\(session)}", "{\(later)}"])
    #expect(replay.hasMore)
    #expect(replay.standingConflicts.count == 100)
    #expect(replay.without == replay.now)
  }
}
