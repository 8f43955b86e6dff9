import Foundation
import JSON
import Runtime
import TestSupport
import Testing

/// The types of published events.
struct EventTypeTests {
  /// The guide lists all audit actions, and a test compares it with those that occur.
  @Test func `each audit action has a type, or a reason for none`() throws {
    let guide = try String(
      contentsOfFile: "\(SourceFiles.repository)/Sources/RESTWire/RESTWire.docc/Signing in.md",
      encoding: .utf8)
    let table = guide.split(separator: "| events | actions |")[1].split(separator: "\n\n")[0]
    let listed = Set(table.matches(of: /`([a-z_]+)`/).map { String($0.1) })
    #expect(listed.count > 80)
    #expect(listed.subtracting(EventType.sources.keys).sorted() == [])
    let actions = try SourceFiles.all().flatMap { file in
      file.text.matches(of: /(?:\bEvent\(|\bact\(|loginFailureBy)\s*"([a-z]+(?:_[a-z]+)*)"/)
        .map { String($0.1) }
    }
    #expect(actions.count > 40)
    #expect(Set(actions).subtracting(EventType.sources.keys).sorted() == [])
    for case .unpublished(let reason) in EventType.sources.values { #expect(!reason.isEmpty) }
  }

  @Test func `types have one spelling and one bit each`() {
    for type in EventType.allCases {
      #expect(type.rawValue.wholeMatch(of: /[a-z_]+(\.[a-z_]+)+/) != nil, "\(type)")
    }
    #expect(EventTypes(EventType.allCases).rawValue.nonzeroBitCount == EventType.allCases.count)
    #expect(!EventTypes.usual.contains(.metadataChanged))
    #expect(EventTypes.usual.contains(.sessionEnded))
  }

  @Test func `a change of data has the type of its kind`() {
    #expect(EventType(action: "data_change", ["what": "metadata"]) == .metadataChanged)
    #expect(EventType(action: "data_change", ["what": "profile"]) == .userUpdated)
    #expect(EventType(action: "data_change", ["what": "other"]) == nil)
    #expect(EventType(action: "user_view", [:]) == nil)
    #expect(EventType(action: "unknown", [:]) == nil)
    #expect(EventType(action: "data_change", ["what": "sign_up"]) == .userCreated)
    #expect(EventType(action: "user_import", ["status": "created"]) == .userCreated)
    #expect(EventType(action: "user_import", ["status": "updated"]) == .userUpdated)
  }
}
