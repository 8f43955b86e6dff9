/// A kind of document of a user.
package enum ConsoleDocument: String, CaseIterable {
  case metadata
  case appMetadata = "app-metadata"
  case customData = "custom-data"

  /// The name of the field, which Auth0 and App Services use too.
  package var field: String {
    switch self {
    case .metadata: "user_metadata"
    case .appMetadata: "app_metadata"
    case .customData: "custom_data"
    }
  }

  /// The member of a request with several documents.
  package var member: String { rawValue.replacing("-", with: "_") }

  package var label: String {
    switch self {
    case .metadata: "Metadata (user_metadata)"
    case .appMetadata: "App metadata (app_metadata)"
    case .customData: "Custom data (custom_data)"
    }
  }

  package var hint: String {
    switch self {
    case .metadata: "The user and the app may change it."
    case .appMetadata: "Only back ends and administrators change it."
    case .customData: "The custom user data of App Services."
    }
  }
}
