import JSON
import Testing

@testable import Dossier

@Suite struct AdministrationTests {
  @Test(arguments: [
    (AppSetting.sessionDays, "30", JSON.number(JSONNumber(30))),
    (.sessionDays, "many", "many"),
    (.sessionDays, "null", .null),
    (.anonymous, "true", .bool(true)),
    (.anonymous, "1", "1"),
    (.switching, "reauthenticate", "reauthenticate"),
    (.mailFromName, "12", "12"),
    (.mailFromName, "\"12\"", "12"),
    (.mailFromName, "{}", "{}"),
    (.mailFromName, "", ""),
    (.allowedOrigins, "[]", .array([])),
    // One origin, or several by commas, is a list of them.
    (.allowedOrigins, "https://a.example", .array(["https://a.example"])),
  ])
  func `a value is JSON where it is JSON of its setting's type`(
    setting: AppSetting,
    text: String,
    value: JSON
  ) {
    #expect(setting.value(of: text) == value)
  }

  @Test(arguments: ["a", "0", "a-b-9", String(repeating: "a", count: 63)])
  func `names that apps and issuers may have`(name: String) {
    #expect(OperatorName.fault(in: name, at: "/name") == nil)
  }

  @Test(arguments: ["", "-a", "A", "a_b", "a b", "ä", "a/b", String(repeating: "a", count: 64)])
  func `names that they may not have`(name: String) {
    #expect(OperatorName.fault(in: name, at: "/name")?.code == "name")
  }

  @Test func `what a hash cost is seen in it, and a calibrated cost is never under the least`() {
    let cost = HashingCost(memory: 20_480, passes: 3)
    let hash = cost.hash("correct horse", .none) ?? ""
    #expect(hash.hasPrefix("$argon2id$v=19$m=20480,t=3,p=1$"))
    #expect((try? PasswordHash(hash))?.recipe?.cost == cost)
    let quick = HashingCost.calibrated(for: .microseconds(1), memoryLimit: 1)
    #expect(quick == .least)
    let more = HashingCost.calibrated(for: .milliseconds(150), memoryLimit: 24_576)
    #expect(more.memory <= 24_576 && more.memory >= 19_456 && more.passes >= 2)
  }
}
