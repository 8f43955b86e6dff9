import Configuration
import HTTP
import JSON
import Outbound
@testable import RateLimiting
import Testing

@testable import Accounts
@testable import Documents
@testable import Runtime
@testable import Sessions
@testable import WireKit
import Records

@Suite struct SettingsTests {
  private let catalog = RecordShape.all

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
    setting: String, text: String, value: JSON
  ) {
    #expect(catalog.column(named: setting)?.rule.value(of: text) == value)
  }

  @Test func `settings are parsed by type, and values of another type are ignored`() {
    let usual = AppSettings("{}")
    #expect(usual.session.accessTokenLifetime == .seconds(1_800))
    #expect(usual.session.sessionLifetime == .seconds(60 * 86_400))
    #expect(usual.session.longestSession == .seconds(365 * 86_400))
    #expect(LoginMethod.allCases.allSatisfy { usual.account.isOpen($0) == ($0 != .emailCode) })
    #expect(catalog.listed(usual.chosen).chosen.isEmpty)
    #expect(catalog.listed(usual.chosen).values.count == catalog.columns.count)
    let text =
      #"{"jwt":false,"session_days":30,"session_max_days":7,"failure_minutes":2,"#
      + #""access_token_seconds":1,"app_metadata_readable":false,"password_min_length":"9"}"#
    let chosen = AppSettings(text)
    #expect(!chosen.account.isOpen(.jwt) && chosen.account.isOpen(.password))
    #expect(chosen.session.sessionLifetime == .seconds(7 * 86_400))
    #expect(chosen.limits.failureWindow == .seconds(120))
    #expect(chosen.session.accessTokenLifetime == .seconds(1))
    #expect(!chosen.documents.isAppMetadataReadable && chosen.account.passwordMinLength == 8)
    let names = [
      "jwt", "access_token_seconds", "session_days", "session_max_days", "failure_minutes",
      "app_metadata_readable",
    ]
    #expect(catalog.listed(chosen.chosen).chosen == names)
    #expect(catalog.listed(chosen.chosen).values["password_min_length"] == .number(JSONNumber(8)))
    #expect(AppSettings(#"{"session_max_days":0}"#).session.longestSession == nil)
  }

  @Test func `an invalid stored value is reported, and replaced by the safest one`() {
    let text =
      #"{"anonymous":"no","sign_up":1,"mfa":"Off","mfa_issuer":7,"#
      + #""app_metadata_readable":{},"switching":"Allow","device_cookie_same_site":"None","#
      + #""session_days":"3","email_link_base_url":7,"allowed_origins":"https://a.example","jwt":null,"#
      + #""texts":[]}"#
    let settings = AppSettings(text)
    #expect(
      !settings.account.isOpen(.anonymous) && settings.account.isOpen(.jwt)
        && settings.account.isOpen(.password)
    )
    #expect(
      settings.account.signUp == .closed && settings.session.mfa == .required
        && settings.session.mfaIssuer == ""
    )
    #expect(!settings.documents.isAppMetadataReadable && !settings.session.allowsSwitching)
    #expect(settings.browser.deviceCookieSameSite == .strict)
    #expect(settings.session.sessionLifetime == .seconds(60 * 86_400))
    #expect(!settings.browser.allows(origin: "https://a.example"))
    #expect(
      settings.misfits == [
        "anonymous", "sign_up", "mfa", "mfa_issuer", "session_days", "switching",
        "allowed_origins", "device_cookie_same_site", "app_metadata_readable",
        "email_link_base_url",
        "texts",
      ]
    )
    // The listed settings are those in force.
    #expect(catalog.listed(settings.chosen).chosen.isEmpty)
    #expect(catalog.listed(settings.chosen).values["switching"] == "reauthenticate")
    #expect(catalog.listed(settings.chosen).values["anonymous"] == .bool(false))
    #expect(AppSettings("{}").misfits.isEmpty)
    let origins = AppSettings(#"{"allowed_origins":["https://a.example",7]}"#)
    #expect(
      origins.misfits == ["allowed_origins"] && !origins.browser.allows(origin: "https://a.example")
    )
    for unreadable in ["[]", "{", ""] {
      let settings = AppSettings(unreadable)
      #expect(settings.misfits.count == catalog.columns.count)
      #expect(
        LoginMethod.allCases.allSatisfy { !settings.account.isOpen($0) }
          && !settings.session.allowsSwitching
      )
    }
  }

  @Test func `a huge stored number has a limit, so that calculations with it succeed`() {
    let (most, least) = (Int.max, Int.min)
    let settings = AppSettings(
      #"{"session_days":\#(most),"session_max_days":0,"failures_per_ip":\#(most),"#
        + #""failures_per_identifier":\#(most),"failure_minutes":\#(least)}"#
    )
    #expect(settings.misfits.isEmpty)
    #expect(settings.session.sessionLifetime == .seconds(100_000_000 * 86_400))
    #expect(settings.limits.failuresPerAddress == 100_000_000)
    #expect(settings.limits.failuresPerIdentifier == 100_000_000)
    #expect(settings.limits.failureWindow == .seconds(-100_000_000 * 60))
  }

  @Test func `a patch of settings is checked by its result`() throws {
    let languages = JSONObject((0..<100).map { ("de-\($0)", JSON.object(JSONObject())) })
    let stored = JSONObject([("texts", .object(languages)), ("session_days", "many")])
    let removed = catalog.change(of: stored, by: Self.translations("de-7", .null), at: "/settings")
    #expect(removed.faults.isEmpty)
    #expect(removed.after["texts"]?.object?.count == 99)
    #expect(removed.after["session_days"] == "many")
    #expect(
      catalog.change(of: stored, by: Self.translations("de-7", [:]), at: "/settings").faults.isEmpty
    )
    for patch in [Self.translations("fr", [:]), Self.translations("de-7", 1)] {
      let faults = catalog.change(of: stored, by: patch, at: "/settings").faults
      #expect(faults.map(\.place) == ["/settings/texts"])
    }
    let unknown = catalog.change(of: stored, by: JSONObject([("a/b", .null)]), at: "/settings")
      .faults
    #expect(unknown.map(\.place) == ["/settings/a~1b"])
  }

  private static func translations(_ language: String, _ texts: JSON) -> JSONObject {
    JSONObject([("texts", [language: texts])])
  }

  @Test func `all ports can be allowed only on this machine`() throws {
    let rule = try #require(catalog.column(named: "allowed_origins")?.rule)
    for origin in [
      "http://localhost:*", "https://localhost:*", "http://127.0.0.1:*", "http://[::1]:*",
    ] {
      #expect(rule.faults(in: [.string(origin)], at: "").isEmpty)
    }
    for origin in [
      "*", "http://*", "http://*:9000", "http://localhost:90*", "http://localhost:*/",
      "http://localhost:*:9000", "http://localhost.example.com:*", "http://a.example:*",
      "http://0.0.0.0:*", "http://127.0.0.2:*", "capacitor://localhost:*", "HTTP://localhost:*",
    ] {
      #expect(rule.faults(in: [.string(origin)], at: "").first?.code == "origin", "\(origin)")
    }
    let stored = #"{"allowed_origins":["http://localhost:*","http://[::1]:*","https://a.example"]}"#
    let settings = AppSettings(stored)
    for origin in [
      "http://localhost", "http://localhost:1", "http://localhost:65535", "http://[::1]:9000",
      "https://a.example",
    ] {
      #expect(settings.browser.allows(origin: origin), "\(origin)")
    }
    for origin in [
      "http://localhost:*", "http://localhost:", "http://localhost:9000.example.com",
      "http://localhost:123456", "http://localhost.example.com", "http://localhost@a.example",
      "https://localhost:9000", "http://127.0.0.1:9000", "https://a.example:1", "null", "",
    ] {
      #expect(!settings.browser.allows(origin: origin), "\(origin)")
    }
    #expect(!AppSettings("{}").browser.allows(origin: "http://localhost:9000"))
  }

  @Test func `an accepted sender name is valid in a mail`() throws {
    let rule = try #require(catalog.column(named: "mail_from_name")?.rule)
    #expect(rule.faults(in: "A\r\nB", at: "").first?.code == "control")
    #expect(rule.faults(in: "A\u{85}B", at: "").first?.code == "control")
    #expect(
      rule.faults(in: .string(String(repeating: "a", count: 101)), at: "").first?.code == "length")
    let longest = String(repeating: "\u{1f600}", count: 100)
    #expect(rule.faults(in: .string(longest), at: "").isEmpty)
    let to = MailAddress("ada@example.com")
    for name in [longest, "Ada \"Countess\" <x@y>, of Lovelace"] {
      let from = MailAddress("shop@example.com", name: name)
      _ = try MailMessage(from: from, to: to, subject: "Hello", text: "you")
    }
  }
}

extension AppSettings {
  fileprivate convenience init(_ stored: String) { self.init(stored: Array(stored.utf8), .all) }

  fileprivate var session: SessionSettings { self[SessionSettings.self] }
  fileprivate var account: AccountSettings { self[AccountSettings.self] }
  fileprivate var limits: LimitSettings { self[LimitSettings.self] }
  fileprivate var documents: DocumentSettings { self[DocumentSettings.self] }
  fileprivate var browser: BrowserSettings { self[BrowserSettings.self] }
}
