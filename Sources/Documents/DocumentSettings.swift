package import Runtime
package import Records

/// The settings of documents and properties.
package struct DocumentSettings: HidingParts {
  /// In characters.
  package let propertyStringLength: Int
  private let readableMetadata: MemberSelection
  private let writableMetadata: MemberSelection
  private let readableAppMetadata: MemberSelection
  private let readableCustomData: MemberSelection
  private let writableCustomData: MemberSelection
  /// How many versions of each document are kept; 0 for none.
  package let versionsKept: Int

  package init(_ read: inout RecordReader) {
    propertyStringLength = read.number(
      "property_string_length", 1...PropertySet.largestString, 128,
      "the most characters that a string property may have"
    )
    readableMetadata = read.members(
      "metadata_readable",
      "the members of their metadata that users may read: true for all, false, or JSON Pointers"
    )
    writableMetadata = read.members(
      "metadata_writable",
      "the members of their metadata that users may write, of those that they may read"
    )
    readableAppMetadata = read.members(
      "app_metadata_readable",
      "the members of their app metadata that users may read; they write none"
    )
    readableCustomData = read.members(
      "custom_data_readable",
      "the members of their custom data that users may read: true for all, false, or JSON Pointers"
    )
    writableCustomData = read.members(
      "custom_data_writable",
      "the members of their custom data that users may write, of those that they may read"
    )
    versionsKept = read.number(
      "document_versions_kept", 0...100, 0,
      "versions kept of each document, with who wrote them; deleted values remain in them"
    )
  }

  package var isAppMetadataReadable: Bool { !readableAppMetadata.isNone }

  package var hiddenParts: [UserPart] {
    DocumentKind.allCases.filter { readable($0).isNone }
      .compactMap { UserPart(rawValue: $0.rawValue) }
  }

  /// The members that users may read.
  package func readable(_ document: DocumentKind) -> MemberSelection {
    switch document {
    case .metadata: readableMetadata
    case .appMetadata: readableAppMetadata
    case .customData: readableCustomData
    }
  }

  /// The members that users may write, if they may read them.
  package func writable(_ document: DocumentKind) -> MemberSelection {
    switch document {
    case .metadata: writableMetadata
    case .appMetadata: .none
    case .customData: writableCustomData
    }
  }
}

extension App {
  package var documentSettings: DocumentSettings { settings[DocumentSettings.self] }
}
