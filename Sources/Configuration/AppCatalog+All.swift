import AppServicesWire
package import Dossier
import WireKit

extension SettingsCatalog {
  /// The settings of all features and wires.
  package static let all = SettingsCatalog([
    AccountSettings.self, SessionSettings.self, LimitSettings.self, BrowserSettings.self,
    DocumentSettings.self, EventSettings.self, MailSettings.self, CollectionSettings.self,
  ])
}

extension AppCatalog {
  /// What all features and wires add to each app.
  package static let all = AppCatalog(settings: .all, parts: [DocumentSchemas.self])
}
