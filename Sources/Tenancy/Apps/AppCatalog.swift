package import Runtime

/// The settings and data that the features and wires of a program add to each app.
package struct AppCatalog: Sendable {
  package let settings: SettingsCatalog
  package let parts: [any AppPart.Type]

  package init(settings: SettingsCatalog, parts: [any AppPart.Type]) {
    (self.settings, self.parts) = (settings, parts)
  }
}
