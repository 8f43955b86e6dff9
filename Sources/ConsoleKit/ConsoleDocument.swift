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
    case .metadata: "Choices of the user, such as a theme. The user and the app may change them."
    case .appMetadata:
      "Decisions of the app's owner, such as a plan. Only back ends and administrators change them."
    case .customData:
      "Data of the app about the user, such as progress: the custom user data of App Services."
    }
  }
}
