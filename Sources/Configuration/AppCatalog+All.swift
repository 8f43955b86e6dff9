import AppServicesWire
import Accounts
import Delivery
import Documents
import ManagementWire
import OpenID
import OpenIDWire
import ParraWire
package import Runtime
import Sessions
package import Tenancy
import WireKit

extension SettingsCatalog {
  /// The settings of all features and wires.
  package static let all = SettingsCatalog([
    AccountSettings.self, SessionSettings.self, LimitSettings.self, BrowserSettings.self,
    DocumentSettings.self, EventSettings.self, MailSettings.self, BrandingSettings.self,
    SignOutSettings.self,
    AppServicesSettings.self, ParraSettings.self, ManagementSettings.self,
  ])
}

extension AppCatalog {
  /// The settings and data of all features and wires.
  package static let all = AppCatalog(
    settings: .all, parts: [DocumentSchemas.self, IndexedDocuments.self, ClientOrigins.self]
  )
}
