/// A setting of an app, as a section declares it.
package struct AppSetting: Sendable {
  package let name: String
  package let rule: SettingRule
  /// Description for operators.
  package let meaning: String
}
