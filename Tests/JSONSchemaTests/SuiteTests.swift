import FoundationEssentials
import JSON
import JSONSchema
import Testing

/// The cases of the JSON Schema organization for draft 2020-12.
///
/// `JSON_SCHEMA_SUITE` names their folder; `deploy/test` fetches them and sets it.
@Suite struct SuiteTests {
  private static let folder = ProcessInfo.processInfo.environment["JSON_SCHEMA_SUITE"]

  @Test(.enabled(if: folder != nil, "the suite is fetched by deploy/test"))
  func `every case of the suite passes, and only remote references are refused`() throws {
    let folder = try #require(Self.folder)
    var agreed = 0
    for name in try FileManager.default.contentsOfDirectory(atPath: folder)
    where name.hasSuffix(".json") {
      let bytes = try #require(FileManager.default.contents(atPath: "\(folder)/\(name)"))
      // Documents cannot contain U+0000, so another character replaces it.
      let text = String(decoding: bytes, as: UTF8.self).replacing("\\u0000", with: "\\u0001")
      for group in try #require(try json(text).array) {
        let title = "\(name): \(group["description"]?.string ?? "")"
        do throws(SchemaError) {
          let schema = try JSONSchema(group["schema"] ?? .null)
          for one in group["tests"]?.array ?? [] {
            let isFit = schema.faults(in: one["data"] ?? .null).isEmpty
            #expect(isFit == one["valid"]?.bool, "\(title): \(one["description"]?.string ?? "")")
            agreed += 1
          }
        } catch {
          // A reference to another document, or a custom meta-schema.
          let isElsewhere = error.rule == "reference" || error.pointer == "/$schema"
          #expect(isElsewhere, "\(title): \(error)")
        }
      }
    }
    // 53 cases of the suite that deploy/test fetches refer to other documents.
    #expect(agreed > 1_000)
  }
}
