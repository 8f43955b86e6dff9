package import JSON
import Outbound

/// What an operator can choose for an app.
package enum AppSetting: String, CaseIterable, Sendable {
  case anonymous
  case password
  case jwt
  case apiKey = "api_key"
  case emailConfirmationRequired = "email_confirmation_required"
  case revealTakenEmails = "reveal_taken_emails"
  case passwordMinLength = "password_min_length"
  case accessTokenSeconds = "access_token_seconds"
  case sessionDays = "session_days"
  case sessionMaxDays = "session_max_days"
  case reauthenticationMinutes = "reauthentication_minutes"
  case switching
  case allowedOrigins = "allowed_origins"
  case failuresPerIdentifier = "failures_per_identifier"
  case failuresPerIdentifierHourly = "failures_per_identifier_hourly"
  case failuresPerAddress = "failures_per_address"
  case failureMinutes = "failure_minutes"
  case anonymousPerAddress = "anonymous_per_address"
  case anonymousDays = "anonymous_days"
  case sessionsPerUser = "sessions_per_user"
  case apiKeysPerUser = "api_keys_per_user"
  case propertyStringLength = "property_string_length"
  case appMetadataReadable = "app_metadata_readable"
  case documentHistory = "document_history"
  case appServicesCollection = "app_services_collection"
  case appServicesUserField = "app_services_user_field"
  case auditDays = "audit_days"
  case mailFrom = "mail_from"
  case mailFromName = "mail_from_name"
  case confirmSubject = "confirm_subject"
  case confirmText = "confirm_text"
  case resetSubject = "reset_subject"
  case resetText = "reset_text"
  case takenSubject = "taken_subject"
  case takenText = "taken_text"
  case changeSubject = "change_subject"
  case changeText = "change_text"

  package enum Rule {
    case flag(Bool)
    case number(ClosedRange<Int>, Int)
    case choice([String], String)
    /// At most so many characters.
    case text(Int, String)
    case address(String)
    /// `service/database/collection`, or nothing.
    case collection
    /// The name of a field of a document.
    case field(String)
    case origins
  }

  package var rule: Rule {
    switch self {
    case .anonymous, .password, .jwt, .apiKey: .flag(true)
    case .emailConfirmationRequired, .revealTakenEmails: .flag(false)
    case .appMetadataReadable: .flag(true)
    // NIST SP 800-63B section 5.1.1.2 asks for at least 8.
    case .passwordMinLength: .number(8...128, 8)
    case .accessTokenSeconds: .number(60...86_400, 1_800)
    case .sessionDays: .number(1...3_650, 60)
    case .sessionMaxDays: .number(0...36_500, 365)
    case .reauthenticationMinutes: .number(1...1_440, 10)
    case .switching: .choice(["allow", "reauthenticate"], "allow")
    case .allowedOrigins: .origins
    case .failuresPerIdentifier: .number(1...10_000, 10)
    // What ASVS 4.0 allows at most (2.2.1).
    case .failuresPerIdentifierHourly: .number(1...1_000_000, 100)
    case .failuresPerAddress: .number(1...1_000_000, 100)
    case .failureMinutes: .number(1...1_440, 15)
    // An office, or the users of a phone company that share an address, in the hour of a launch.
    case .anonymousPerAddress: .number(1...1_000_000, 300)
    case .anonymousDays: .number(0...3_650, 30)
    case .sessionsPerUser: .number(1...1_000, 100)
    case .apiKeysPerUser: .number(0...1_000, 20)
    case .propertyStringLength: .number(1...PropertySet.largestString, 128)
    case .documentHistory: .number(0...100, 0)
    case .appServicesCollection: .collection
    case .appServicesUserField: .field("userId")
    case .auditDays: .number(1...36_500, 365)
    case .mailFrom: .address("no-reply@localhost")
    case .mailFromName: .text(100, "Dossier")
    case .confirmSubject: .text(200, "Confirm your address")
    case .confirmText:
      .text(
        20_000,
        "Hello,\n\nto confirm {{email}}, use this code within a day:\n\n{{token}}\n\nIf it was not "
          + "you who asked for it, nothing needs to be done.\n"
      )
    case .resetSubject: .text(200, "Choose a new password")
    case .resetText:
      .text(
        20_000,
        "Hello,\n\nto choose a new password for {{email}}, use this code within an hour:\n\n"
          + "{{token}}\n\nIf it was not you who asked for it, nothing needs to be done.\n"
      )
    case .changeSubject: .text(200, "Your account has changed")
    case .changeText:
      .text(
        20_000,
        "Hello,\n\n{{change}}\n\nIf it was you who did this, nothing needs to be done. If it was not: "
          + "{{advice}}\n"
      )
    case .takenSubject: .text(200, "You already have an account")
    case .takenText:
      .text(
        20_000,
        "Hello,\n\nsomebody has just registered with {{email}}, which already has an account. If it "
          + "was you, log in with the password that you chose then, or ask for a new one.\n\nIf it "
          + "was not you, nothing needs to be done: nobody has got into your account.\n"
      )
    }
  }

  package var meaning: String {
    switch self {
    case .anonymous: "whether users may come without credentials"
    case .password: "whether users may come with email address and password"
    case .jwt: "whether users may come with a token of one of the app's issuers"
    case .apiKey: "whether users may come with an API key"
    case .emailConfirmationRequired: "whether an address must be confirmed before it can log in"
    case .revealTakenEmails:
      "whether registering and linking answer 409 email_taken for an address that another user has "
        + "confirmed: friendlier, but anybody can then find out who has an account, address by "
        + "address; without it the owner is told by mail, and nobody else"
    case .passwordMinLength: "characters of a new password"
    case .accessTokenSeconds: "seconds an access token is good for"
    case .sessionDays: "days a session lasts after its last refresh"
    case .sessionMaxDays:
      "days a session lasts after its login, however often it is refreshed; 0 for no such limit"
    case .reauthenticationMinutes:
      "minutes after a login, here or at an issuer, in which a user may change its ways in without a "
        + "fresh proof"
    case .switching: "whether a device changes users without logging in again"
    case .allowedOrigins: "origins of web pages that may call, such as https://app.example.com"
    case .failuresPerIdentifier:
      "failed logins with one address of mail from one network, before they are slowed down"
    case .failuresPerIdentifierHourly:
      "failed logins with one address of mail from all networks in an hour, likewise"
    case .failuresPerAddress: "failed logins from one network address, likewise"
    case .failureMinutes: "minutes in which the failures of one network are forgotten, evenly"
    case .anonymousPerAddress: "anonymous users from one network address in an hour"
    case .anonymousDays:
      "days after which an anonymous user without data who was not seen is removed; 0 for never"
    case .sessionsPerUser: "sessions a user may have; the one used longest ago ends for another"
    case .apiKeysPerUser: "API keys a user may have"
    case .propertyStringLength: "characters of a property's string"
    case .appMetadataReadable: "whether users may read their app metadata"
    case .documentHistory:
      "versions kept of each document, with who made them; what is deleted stays in them"
    case .appServicesCollection:
      "what clients of App Services call the collection of custom data: service/database/collection"
    case .appServicesUserField: "the field of its documents that holds the user's id"
    case .auditDays: "days after which facts of the audit trail are removed"
    case .mailFrom: "address that mail comes from"
    case .mailFromName: "name beside it"
    case .confirmSubject, .confirmText:
      "mail that confirms an address; {{token}} {{email}} {{app}} are filled in"
    case .resetSubject, .resetText:
      "mail that resets a password; {{token}} {{email}} {{app}} are filled in"
    case .changeSubject, .changeText:
      "mail to the confirmed address when what logs the user in has changed; {{change}} {{advice}} "
        + "{{email}} {{app}} are filled in"
    case .takenSubject, .takenText:
      "mail to who has confirmed an address when somebody registers, links or confirms it again; "
        + "{{email}} {{app}} are filled in"
    }
  }
}

/// The settings of an app: what was chosen, over the defaults.
package struct AppSettings: Sendable {
  private let chosen: JSONObject

  /// Reads what passed `changed` before it was stored.
  init(stored: [UInt8]) { chosen = (try? JSON.parse(stored))?.object ?? JSONObject() }

  package func flag(_ setting: AppSetting) -> Bool {
    guard case .flag(let usual) = setting.rule else { return false }
    return chosen[setting.rawValue]?.bool ?? usual
  }

  package func number(_ setting: AppSetting) -> Int {
    guard case .number(_, let usual) = setting.rule else { return 0 }
    return chosen[setting.rawValue]?.number?.int ?? usual
  }

  package func text(_ setting: AppSetting) -> String {
    switch setting.rule {
    case .choice(_, let usual), .text(_, let usual), .address(let usual), .field(let usual):
      chosen[setting.rawValue]?.string ?? usual
    case .collection: chosen[setting.rawValue]?.string ?? ""
    default: ""
    }
  }

  func list(_ setting: AppSetting) -> [String] {
    chosen[setting.rawValue]?.array?.compactMap(\.string) ?? []
  }

  package var allowsSwitching: Bool { text(.switching) == "allow" }

  /// The names of those that are not left to their defaults, in the order of all.
  package var chosenNames: [String] {
    AppSetting.allCases.map(\.rawValue).filter { chosen[$0] != nil }
  }

  package func allows(origin: String) -> Bool {
    list(.allowedOrigins).contains { $0.hasSameBytes(as: origin) }
  }

  /// Every setting with its value in force.
  package var json: JSONObject {
    var object = JSONObject()
    for setting in AppSetting.allCases {
      object[setting.rawValue] =
        switch setting.rule {
        case .flag: .bool(flag(setting))
        case .number: .number(JSONNumber(number(setting)))
        case .choice, .text, .address, .collection, .field: .string(text(setting))
        case .origins: .array(list(setting).map(JSON.string))
        }
    }
    return object
  }

  /// What is wrong with a change of settings; null puts one back to its default.
  package static func faults(in change: JSONObject, at pointer: String = "") -> [Fault] {
    change.compactMap { name, value in
      let place = "\(pointer)/\(JSONPointer.escaped(name))"
      guard let setting = AppSetting(rawValue: name) else {
        return Fault(place, "unknown_member", "There is no such setting.")
      }
      return value == .null ? nil : setting.fault(value).map { Fault(place, $0, $1) }
    }
  }
}
