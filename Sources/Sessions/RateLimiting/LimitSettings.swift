package import Runtime

/// The settings of limits on attempts, mails and anonymous users.
package struct LimitSettings: SettingsSection {
  package let failuresPerIdentifier: Int
  let failuresPerIdentifierHourly: Int
  let failuresPerAddress: Int
  /// The time in which failures are forgotten.
  package let failureWindow: Duration
  /// In an hour.
  package let anonymousPerAddress: Int
  /// In an hour.
  let authorizationsPerAddress: Int
  /// In an hour.
  let signInsPerUser: Int
  /// In an hour.
  let changesPerUser: Int
  /// In an hour.
  let recordedChangesPerUser: Int
  /// To one address, in a day.
  package let mailsPerAddressDaily: Int

  package init(_ read: inout SettingsReader) {
    failuresPerIdentifier = read.number(
      "failures_per_identifier",
      1...10_000,
      10,
      "failed sign-ins with one email address from one network before further attempts are refused "
        + "(429)"
    )
    // The limit of ASVS 4.0 (2.2.1).
    failuresPerIdentifierHourly = read.number(
      "failures_per_identifier_hourly",
      1...1_000_000,
      100,
      "failed sign-ins with one email address from all networks in an hour before further attempts "
        + "are refused (429)"
    )
    failuresPerAddress = read.number(
      "failures_per_ip", 1...1_000_000, 100,
      "failed sign-ins from one network before further attempts are refused (429)"
    )
    failureWindow = read.duration(
      "failure_minutes", .minutes, 1...1_440, 15,
      "minutes in which the failures of one network are gradually forgotten"
    )
    // Enough for an office or the shared address of a mobile network during a launch.
    anonymousPerAddress = read.number(
      "anonymous_users_per_ip", 1...1_000_000, 300, "anonymous users from one network in an hour"
    )
    // Each is a stored row for an hour. People in an office begin a few sign-ins a day.
    authorizationsPerAddress = read.number(
      "sign_in_pages_per_ip", 1...1_000_000, 1_000,
      "sign-ins at the hosted pages that begin from one network in an hour"
    )
    // Each is a session, often a device, and two events. Scripts sign in at each start.
    signInsPerUser = read.number(
      "sign_ins_per_user", 1...1_000_000, 300, "sign-ins of one user in an hour"
    )
    // Each is an event, and most are a mail.
    changesPerUser = read.number(
      "account_changes_per_user", 1...1_000_000, 60,
      "changes of one user's own credentials in an hour"
    )
    recordedChangesPerUser = read.number(
      "recorded_changes_per_user", 1...1_000_000, 3_600,
      "changes of one user's own data in an hour, where data_event_days records them"
    )
    mailsPerAddressDaily = read.number(
      "mails_per_email_daily", 1...1_000_000, 40,
      "mails to one address that devices unknown to its user may request in a day"
    )
  }
}

extension App {
  package var limitSettings: LimitSettings { settings[LimitSettings.self] }
}
