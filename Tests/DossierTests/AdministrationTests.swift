import JSON
import Outbound
import PasswordHashes
import Testing

@testable import Dossier

@Suite struct AdministrationTests {
  @Test(arguments: [
    ("session_days", "30", JSON.number(JSONNumber(30))),
    ("session_days", "many", "many"),
    ("session_days", "null", .null),
    ("anonymous", "true", .bool(true)),
    ("anonymous", "1", "1"),
    ("switching", "reauthenticate", "reauthenticate"),
    ("mail_from_name", "12", "12"),
    ("mail_from_name", "\"12\"", "12"),
    ("mail_from_name", "{}", "{}"),
    ("mail_from_name", "", ""),
    ("allowed_origins", "[]", .array([])),
    // One origin, or several with commas, becomes a list.
    ("allowed_origins", "https://a.example", .array(["https://a.example"])),
  ])
  func `a value is parsed as JSON of its setting's type`(
    setting: String,
    text: String,
    value: JSON
  ) {
    #expect(AppSetting.named(setting)?.rule.value(of: text) == value)
  }

  @Test func `settings are parsed by type, and values of another type are ignored`() {
    let usual = AppSettings(stored: Array("{}".utf8))
    #expect(usual.accessTokenLifetime == .seconds(1_800))
    #expect(usual.sessionLifetime == .seconds(60 * 86_400))
    #expect(usual.longestSession == .seconds(365 * 86_400))
    #expect(LoginMethod.allCases.allSatisfy { usual.isOpen($0) == ($0 != .emailCode) })
    #expect(usual.listed.chosen.isEmpty)
    #expect(usual.listed.values.count == AppSetting.all.count)
    let text =
      #"{"jwt":false,"session_days":30,"session_max_days":7,"failure_minutes":2,"#
      + #""access_token_seconds":1,"app_metadata_readable":false,"password_min_length":"9"}"#
    let chosen = AppSettings(stored: Array(text.utf8))
    #expect(!chosen.isOpen(.jwt) && chosen.isOpen(.password))
    #expect(chosen.sessionLifetime == .seconds(7 * 86_400))
    #expect(chosen.failureWindow == .seconds(120))
    #expect(chosen.accessTokenLifetime == .seconds(1))
    #expect(!chosen.isAppMetadataReadable && chosen.passwordMinLength == 8)
    let names = [
      "jwt", "access_token_seconds", "session_days", "session_max_days", "failure_minutes",
      "app_metadata_readable",
    ]
    #expect(chosen.listed.chosen == names)
    #expect(chosen.listed.values["password_min_length"] == .number(JSONNumber(8)))
    #expect(AppSettings(stored: Array(#"{"session_max_days":0}"#.utf8)).longestSession == nil)
  }

  @Test func `an invalid stored value is reported, and replaced by the safest one`() {
    let text =
      #"{"anonymous":"no","sign_up":1,"mfa":"Off","mfa_issuer":7,"#
      + #""app_metadata_readable":[],"switching":"Allow","device_cookie_same_site":"None","#
      + #""session_days":"3","email_link_base_url":7,"allowed_origins":"https://a.example","jwt":null,"#
      + #""mail_translations":[]}"#
    let settings = AppSettings(stored: Array(text.utf8))
    #expect(!settings.isOpen(.anonymous) && settings.isOpen(.jwt) && settings.isOpen(.password))
    #expect(settings.signUp == .closed && settings.mfa == .required && settings.mfaIssuer == "")
    #expect(!settings.isAppMetadataReadable && !settings.allowsSwitching)
    #expect(settings.deviceCookieSameSite == .strict)
    #expect(settings.sessionLifetime == .seconds(60 * 86_400))
    #expect(!settings.allows(origin: "https://a.example"))
    #expect(
      settings.misfits == [
        "anonymous", "sign_up", "mfa", "mfa_issuer", "session_days", "switching",
        "allowed_origins", "device_cookie_same_site", "app_metadata_readable",
        "email_link_base_url",
        "mail_translations",
      ]
    )
    // The listed settings are those in force.
    #expect(settings.listed.chosen.isEmpty)
    #expect(settings.listed.values["switching"] == "reauthenticate")
    #expect(settings.listed.values["anonymous"] == .bool(false))
    #expect(AppSettings(stored: Array("{}".utf8)).misfits.isEmpty)
    let origins = AppSettings(stored: Array(#"{"allowed_origins":["https://a.example",7]}"#.utf8))
    #expect(origins.misfits == ["allowed_origins"] && !origins.allows(origin: "https://a.example"))
    for unreadable in ["[]", "{", ""] {
      let settings = AppSettings(stored: Array(unreadable.utf8))
      #expect(settings.misfits.count == AppSetting.all.count)
      #expect(LoginMethod.allCases.allSatisfy { !settings.isOpen($0) } && !settings.allowsSwitching)
    }
  }

  @Test func `all ports may be allowed on this machine only`() throws {
    let rule = try #require(AppSetting.named("allowed_origins")?.rule)
    for origin in [
      "http://localhost:*", "https://localhost:*", "http://127.0.0.1:*", "http://[::1]:*",
    ] {
      #expect(rule.fault([.string(origin)]) == nil)
    }
    for origin in [
      "*", "http://*", "http://*:9000", "http://localhost:90*", "http://localhost:*/",
      "http://localhost:*:9000", "http://localhost.example.com:*", "http://a.example:*",
      "http://0.0.0.0:*", "http://127.0.0.2:*", "capacitor://localhost:*", "HTTP://localhost:*",
    ] {
      #expect(rule.fault([.string(origin)])?.0 == "origin", "\(origin)")
    }
    let stored = #"{"allowed_origins":["http://localhost:*","http://[::1]:*","https://a.example"]}"#
    let settings = AppSettings(stored: Array(stored.utf8))
    for origin in [
      "http://localhost", "http://localhost:1", "http://localhost:65535", "http://[::1]:9000",
      "https://a.example",
    ] {
      #expect(settings.allows(origin: origin), "\(origin)")
    }
    for origin in [
      "http://localhost:*", "http://localhost:", "http://localhost:9000.example.com",
      "http://localhost:123456", "http://localhost.example.com", "http://localhost@a.example",
      "https://localhost:9000", "http://127.0.0.1:9000", "https://a.example:1", "null", "",
    ] {
      #expect(!settings.allows(origin: origin), "\(origin)")
    }
    #expect(!AppSettings(stored: Array("{}".utf8)).allows(origin: "http://localhost:9000"))
  }

  @Test func `an accepted sender name can be sent`() throws {
    let rule = try #require(AppSetting.named("mail_from_name")?.rule)
    #expect(rule.fault("A\r\nB")?.0 == "control")
    #expect(rule.fault("A\u{85}B")?.0 == "control")
    #expect(rule.fault(.string(String(repeating: "a", count: 101)))?.0 == "length")
    let longest = String(repeating: "\u{1f600}", count: 100)
    #expect(rule.fault(.string(longest)) == nil)
    let to = MailAddress("ada@example.com")
    for name in [longest, "Ada \"Countess\" <x@y>, of Lovelace"] {
      let from = MailAddress("shop@example.com", name: name)
      _ = try MailMessage(from: from, to: to, subject: "Hello", text: "you")
    }
  }

  @Test(arguments: ["a", "0", "a-b-9", String(repeating: "a", count: 63)])
  func `a valid name of an app or issuer is accepted`(name: String) {
    #expect(OperatorName.fault(in: name, at: "/name") == nil)
  }

  @Test(arguments: ["", "-a", "A", "a_b", "a b", "ä", "a/b", String(repeating: "a", count: 64)])
  func `an invalid name of an app or issuer is refused`(name: String) {
    #expect(OperatorName.fault(in: name, at: "/name")?.code == "name")
  }

  @Test func `a hash shows its cost, and a calibrated cost is at least the minimum`() {
    let cost = HashingCost(memory: 20_480, passes: 3)
    let hash = cost.hash("correct horse") ?? ""
    #expect(hash.hasPrefix("$argon2id$v=19$m=20480,t=3,p=1$"))
    #expect((try? PasswordHash(hash))?.isMade(at: cost) == true)
    let quick = HashingCost.calibrated(for: .microseconds(1), memoryLimit: 1)
    #expect(quick == .least)
    let more = HashingCost.calibrated(for: .milliseconds(150), memoryLimit: 24_576)
    #expect(more.memory <= 24_576 && more.memory >= 19_456 && more.passes >= 2)
  }
}
