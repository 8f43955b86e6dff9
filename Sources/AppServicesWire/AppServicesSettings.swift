import Encoding
package import Runtime

/// The settings of an app for clients of App Services.
package struct AppServicesSettings: SettingsSection {
  /// Whether the app has clients of App Services.
  let isOffered: Bool
  /// `service/database/collection`, or empty.
  let collection: String
  package let userField: String
  /// Whether `register` is open although `sign_up` is `verify_first`.
  let opensRegistration: Bool

  package init(_ read: inout SettingsReader) {
    isOffered = read.flag(
      "app_services", false, safe: false, "whether clients of App Services may call the app"
    )
    collection = read.text(
      "app_services_collection",
      .text(
        0...362, "collection", "This setting must be service/database/collection, or empty.",
        Self.isCollection
      ),
      "",
      "the collection of custom data in clients of App Services: service/database/collection"
    )
    userField = read.text(
      "app_services_user_field",
      .text(
        1...100, "field",
        "This setting must be a name of 1 to 100 characters without dots and dollar signs.",
        Self.isField
      ),
      "userId",
      "the field of its documents that holds the user's id, such as userId or _id"
    )
    opensRegistration = read.flag(
      "app_services_registration",
      false,
      safe: false,
      "whether clients of App Services may register if sign_up is verify_first; the response then "
        + "tells whether an address has a user"
    )
  }

  private static func isCollection(_ text: String) -> Bool {
    text.isEmpty || !text.hasControlCharacters && Namespace(text) != nil
  }

  private static func isField(_ text: String) -> Bool {
    !text.hasControlCharacters
      && !text.utf8.contains { $0 == UInt8(ascii: ".") || $0 == UInt8(ascii: "$") }
  }
}

extension App {
  package var appServicesSettings: AppServicesSettings { settings[AppServicesSettings.self] }
}
