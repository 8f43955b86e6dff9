package import JSON

/// Derived values of an app's settings.
extension AppSettings {
  /// Returns the subject and text of a mail in the recipient's language.
  func words(of kind: MailKind, in language: String?) -> AppMail {
    let usual = mails[kind]
    func words(_ part: String) -> String? {
      translations.words("\(kind.rawValue)_\(part)", in: language)
    }
    return AppMail(
      subject: words("subject") ?? usual?.subject ?? "",
      text: words("text") ?? usual?.text ?? ""
    )
  }

  /// Every setting with its effective value, and the names of the settings that are not at their
  /// defaults.
  ///
  /// Both are in display order.
  package var listed: (values: JSONObject, chosen: [String]) {
    var reader = SettingsReader(chosen, isListing: true)
    _ = AppSettings(&reader)
    return (reader.json, reader.chosenNames)
  }

  package func isOpen(_ way: LoginMethod) -> Bool { openWays.contains(way) }

  package func allows(origin: String) -> Bool {
    allowedOrigins.contains { AllowedOrigin.matches($0, origin) }
  }

  /// Returns the faults of a change of settings; null resets a setting to its default.
  package static func faults(in change: JSONObject, at pointer: String = "") -> [Fault] {
    change.compactMap { name, value in
      let place = "\(pointer)/\(JSONPointer.escaped(name))"
      guard let setting = AppSetting.named(name) else {
        return Fault(place, "unknown_member", "There is no such setting.")
      }
      return value == .null ? nil : setting.rule.fault(value).map { Fault(place, $0, $1) }
    }
  }
}
