/// The settings of events.
package struct EventSettings: SettingsSection {
  /// Whether changes that users make to their own data are events.
  let recordsOwnChanges: Bool

  package init(_ read: inout SettingsReader) {
    read.declare(
      "audit_retention_days", 1...36_500, 365,
      "days after which events are removed from the audit log"
    )
    recordsOwnChanges =
      read.number(
        "data_event_days",
        0...36_500,
        0,
        "days after which events of changes that users make to their own data are removed; 0 for no "
          + "such events"
      ) > 0
  }
}

extension App {
  var eventSettings: EventSettings { settings[EventSettings.self] }
}
