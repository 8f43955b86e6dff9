import JSON

/// The settings of an app: stored values over the defaults.
///
/// The initializer declares each setting once: name, type, rule, default and description.
package final class AppSettings: Sendable {
  let openWays: Set<LoginMethod>
  package let signUp: SignUp
  package let mfa: MFA
  package let mfaIssuer: String
  /// In characters.
  package let passwordMinLength: Int
  package let accessTokenLifetime: Duration
  let accessTokenClaims: Set<AccountClaim>
  /// How long a session lasts after its creation or last refresh.
  package let sessionLifetime: Duration
  /// How long a session lasts, however often it is refreshed; nil for no limit.
  package let longestSession: Duration?
  /// The greatest age of a session's authentication where the API requires a recent one.
  package let proofLifetime: Duration
  package let allowsSwitching: Bool
  let allowedOrigins: [String]
  package let deviceCookieSameSite: DeviceCookieSameSite
  package let failuresPerIdentifier: Int
  package let failuresPerIdentifierHourly: Int
  package let failuresPerAddress: Int
  /// The time in which failures are forgotten.
  package let failureWindow: Duration
  /// In an hour.
  package let anonymousPerAddress: Int
  /// To one address, in a day.
  package let mailsPerAddressDaily: Int
  /// In the addresses of users.
  package let allowsMixedScripts: Bool
  package let sessionsPerUser: Int
  package let apiKeysPerUser: Int
  /// In characters.
  package let propertyStringLength: Int
  package let isAppMetadataReadable: Bool
  /// `service/database/collection`, or empty.
  package let appServicesCollection: String
  package let appServicesUserField: String
  let recordsOwnChanges: Bool
  package let mailFrom: String
  package let mailFromName: String
  /// The page that the links of mails lead to; empty for none.
  let mailPage: String
  let translations: MailTranslations
  let mails: [MailKind: AppMail]

  /// Names of invalid stored settings, which are replaced by their safest values.
  ///
  /// Other software wrote them, or another version of this program.
  package let misfits: [String]

  let chosen: JSONObject?

  /// Reads settings that passed `faults` before they were stored.
  package convenience init(stored: [UInt8]) {
    var reader = SettingsReader((try? JSON.parse(stored))?.object)
    self.init(&reader)
  }

  init(_ read: inout SettingsReader) {
    chosen = read.chosen
    var open: Set<LoginMethod> = []
    for way in LoginMethod.allCases {
      let meaning = "whether users may come \(way.meaning)"
      let isOpen = read.flag(way.rawValue, way != .emailCode, safe: false, meaning)
      if isOpen { open.insert(way) }
    }
    openWays = open
    signUp = read.choice(
      "sign_up",
      SignUp.immediate,
      safe: .closed,
      "how users sign up: immediate signs them in at once, verify_first after they have entered a "
        + "mailed code, closed leaves it to the management API"
    )
    mfa = read.choice(
      "mfa",
      MFA.off,
      safe: .required,
      "whether users have a second factor: off, optional, or required"
    )
    mfaIssuer = read.text(
      "mfa_issuer",
      .issuerName,
      "",
      "the name that authenticator apps show beside a code; empty for the name of the app"
    )
    // NIST SP 800-63B section 5.1.1.2 requires at least 8.
    passwordMinLength = read.number(
      "password_min_length",
      8...128,
      8,
      "characters of a new password"
    )
    accessTokenLifetime = read.duration(
      "access_token_seconds",
      .seconds,
      60...86_400,
      1_800,
      "seconds an access token is good for"
    )
    accessTokenClaims = read.choices(
      "access_token_claims",
      "claims about the account in access tokens: email, email_verified and anonymous, as they were "
        + "when the token was signed"
    )
    let idle = read.duration(
      "session_days",
      .days,
      1...3_650,
      60,
      "days a session lasts after its last refresh"
    )
    let longest = read.duration(
      "session_max_days",
      .days,
      0...36_500,
      365,
      "days a session lasts after its login, however often it is refreshed; 0 for no such limit"
    )
    longestSession = longest == .zero ? nil : longest
    sessionLifetime = longest == .zero ? idle : min(idle, longest)
    proofLifetime = read.duration(
      "reauthentication_minutes",
      .minutes,
      1...1_440,
      10,
      "minutes after a sign-in, here or at an issuer, in which a user may change credentials without "
        + "authenticating again"
    )
    let switching = read.choice(
      "switching",
      Switching.allow,
      safe: .reauthenticate,
      "whether a device changes users without logging in again"
    )
    allowsSwitching = switching == .allow
    allowedOrigins = read.origins(
      "allowed_origins",
      "origins of web pages that may call, such as https://app.example.com; for development "
        + "http://localhost:* and http://127.0.0.1:* stand for any port of the browser's machine"
    )
    deviceCookieSameSite = read.choice(
      "device_cookie_same_site",
      DeviceCookieSameSite.strict,
      safe: .strict,
      "whose pages the cookie of a device is sent with: strict for pages of the same site, lax also "
        + "where a link leads here, none for pages of any site that allowed_origins names"
    )
    failuresPerIdentifier = read.number(
      "failures_per_identifier",
      1...10_000,
      10,
      "failed logins with one address of mail from one network, before they are slowed down"
    )
    // The limit of ASVS 4.0 (2.2.1).
    failuresPerIdentifierHourly = read.number(
      "failures_per_identifier_hourly",
      1...1_000_000,
      100,
      "failed logins with one address of mail from all networks in an hour, likewise"
    )
    failuresPerAddress = read.number(
      "failures_per_ip",
      1...1_000_000,
      100,
      "failed logins from one network address, likewise"
    )
    failureWindow = read.duration(
      "failure_minutes",
      .minutes,
      1...1_440,
      15,
      "minutes in which the failures of one network are forgotten, evenly"
    )
    // Enough for an office or the shared address of a mobile network during a launch.
    anonymousPerAddress = read.number(
      "anonymous_users_per_ip",
      1...1_000_000,
      300,
      "anonymous users from one network address in an hour"
    )
    mailsPerAddressDaily = read.number(
      "mails_per_email_daily",
      1...1_000_000,
      40,
      "mails to one address that devices unknown to its user may ask for in a day"
    )
    read.ofDatabase(
      "anonymous_user_retention_days",
      0...3_650,
      30,
      "days after which an anonymous user without data who was not seen is removed; 0 for never"
    )
    allowsMixedScripts = read.flag(
      "mixed_script_addresses",
      false,
      safe: false,
      "whether new addresses may mix scripts, such as Latin and Cyrillic, before the @ or between two "
        + "dots after it: such an address can look like another user's"
    )
    sessionsPerUser = read.number(
      "sessions_per_user",
      1...1_000,
      100,
      "sessions a user may have; the one used longest ago ends for another"
    )
    apiKeysPerUser = read.number("api_keys_per_user", 0...1_000, 20, "API keys a user may have")
    propertyStringLength = read.number(
      "property_string_length",
      1...PropertySet.largestString,
      128,
      "characters of a property's string"
    )
    isAppMetadataReadable = read.flag(
      "app_metadata_readable",
      true,
      safe: false,
      "whether users may read their app metadata"
    )
    read.ofDatabase(
      "document_history",
      0...100,
      0,
      "versions kept of each document, with who made them; what is deleted stays in them"
    )
    appServicesCollection = read.text(
      "app_services_collection",
      .collection,
      "",
      "what clients of App Services call the collection of custom data: service/database/collection"
    )
    appServicesUserField = read.text(
      "app_services_user_field",
      .field,
      "userId",
      "the field of its documents that holds the user's id, such as userId or _id"
    )
    read.ofDatabase(
      "audit_retention_days",
      1...36_500,
      365,
      "days after which facts of the audit trail are removed"
    )
    recordsOwnChanges =
      read.number(
        "data_event_days",
        0...36_500,
        0,
        "days after which events of changes that users make to their own data are removed; 0 for no "
          + "such events"
      ) > 0
    mailFrom = read.text(
      "mail_from",
      .address,
      "no-reply@localhost",
      "address that mail comes from"
    )
    mailFromName = read.text("mail_from_name", .senderName, "Dossier", "name beside it")
    mailPage = read.text(
      "email_link_base_url",
      .page,
      "",
      "the page of the app that links of mails lead to, such as https://app.example.com/account; the "
        + "token is in its fragment: #verify=…, #reset=… or #restore=…; empty for none, "
        + "and then {{link}} is the bare token"
    )
    translations = read.translations(
      "mail_translations",
      "words of mails in other languages, for users with such a locale: "
        + "{\"de\": {\"reset_subject\": …, \"reset_text\": …}}"
    )
    var mails: [MailKind: AppMail] = [:]
    for kind in MailKind.allCases { mails[kind] = read.mail(kind) }
    self.mails = mails
    misfits = read.misfits
  }
}
