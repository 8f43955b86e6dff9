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

  /// Returns the settings after a merge patch, and the faults of the settings that it names.
  ///
  /// A patch may change a part of a setting, so the result is checked. Other settings are not
  /// checked, since an earlier version may have allowed their values.
  /// - Parameters:
  ///   - stored: the settings before.
  ///   - patch: a merge patch; null resets a setting to its default.
  /// - Returns: the settings, and faults with pointers into a body with `settings`.
  package func changed(
    _ stored: JSONObject, by patch: JSONObject
  ) -> (settings: JSONObject, faults: [FieldError]) {
    let settings = stored.merging(patch)
    return (settings, patch.compactMap { name, _ in fault(of: name, settings[name] ?? .null) })
  }

  private func fault(of name: String, _ value: JSON) -> FieldError? {
    let place = "/settings/\(JSONPointer.escaped(name))"
    guard let setting = setting(named: name) else {
      return FieldError(place, "unknown_member", "This setting is unknown.")
    }
    return value == .null ? nil : setting.rule.fault(value).map { FieldError(place, $0, $1) }
  }
}
