import Encoding
package import Runtime

/// The settings of the collection that holds the custom data.
package struct CollectionSettings: SettingsSection {
  /// `service/database/collection`, or empty.
  let collection: String
  package let userField: String

  package init(_ read: inout SettingsReader) {
    collection = read.text(
      "app_services_collection",
      .text(
        0...362,
        "collection",
        "This setting must be service/database/collection, or empty.",
        Self.isCollection
      ),
      "",
      "the collection of custom data in clients of App Services: service/database/collection"
    )
    userField = read.text(
      "app_services_user_field",
      .text(
        1...100,
        "field",
        "This setting must be a name of 1 to 100 characters without dots and dollar signs.",
        Self.isField
      ),
      "userId",
      "the field of its documents that holds the user's id, such as userId or _id"
    )
  }

  private static func isCollection(_ text: String) -> Bool {
    let parts = text.split(separator: "/", omittingEmptySubsequences: false)
    return text.isEmpty
      || parts.count == 3
        && parts.allSatisfy { part in
          (1...120).contains(part.utf8.count)
            && !part.hasControlCharacters
        }
  }

  private static func isField(_ text: String) -> Bool {
    !text.hasControlCharacters
      && !text.utf8.contains { $0 == UInt8(ascii: ".") || $0 == UInt8(ascii: "$") }
  }
}

extension App {
  package var collectionSettings: CollectionSettings { settings[CollectionSettings.self] }
}
