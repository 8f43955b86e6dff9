package import Runtime

/// The settings of documents and properties.
package struct DocumentSettings: SettingsSection {
  /// In characters.
  package let propertyStringLength: Int
  package let isAppMetadataReadable: Bool
  /// How many versions of each document are kept; 0 for none.
  let versionsKept: Int

  package init(_ read: inout SettingsReader) {
    propertyStringLength = read.number(
      "property_string_length",
      1...PropertySet.largestString,
      128,
      "the most characters that a string property may have"
    )
    isAppMetadataReadable = read.flag(
      "app_metadata_readable",
      true,
      safe: false,
      "whether users may read their app metadata"
    )
    versionsKept = read.number(
      "document_versions_kept",
      0...100,
      0,
      "versions kept of each document, with who wrote them; deleted values remain in them"
    )
  }
}

extension App {
  package var documentSettings: DocumentSettings { settings[DocumentSettings.self] }
}
