package import JSON

/// The settings of one feature or wire.
///
/// The initializer declares each setting once: name, rule, default and description.
package protocol SettingsSection: Sendable {
  init(_ read: inout SettingsReader)
}

/// The sections of settings that a program knows, in display order.
package struct SettingsCatalog: Sendable {
  package let sections: [any SettingsSection.Type]
  /// All settings, in display order.
  package let settings: [AppSetting]

  package init(_ sections: [any SettingsSection.Type]) {
    self.sections = sections
    var reader = SettingsReader(JSONObject(), isListing: true)
    for section in sections { _ = section.init(&reader) }
    settings = reader.settings
  }

  package func setting(named name: String) -> AppSetting? {
    settings.first { $0.name.hasSameBytes(as: name) }
  }

  /// Returns every setting with its effective value, and the names of the settings that an app has
  /// chosen.
  ///
  /// Both are in display order.
  package func listed(_ stored: AppSettings) -> (values: JSONObject, chosen: [String]) {
    var reader = SettingsReader(stored.chosen, isListing: true)
    for section in sections { _ = section.init(&reader) }
    return (reader.json, reader.chosenNames)
  }

  /// Returns the faults of a change of settings; null resets a setting to its default.
  package func faults(in change: JSONObject, at pointer: String = "") -> [FieldError] {
    change.compactMap { name, value in
      let place = "\(pointer)/\(JSONPointer.escaped(name))"
      guard let setting = setting(named: name) else {
        return FieldError(place, "unknown_member", "This setting is unknown.")
      }
      return value == .null ? nil : setting.rule.fault(value).map { FieldError(place, $0, $1) }
    }
  }
}
