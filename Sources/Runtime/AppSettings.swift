package import JSON
package import Records

/// The settings of an app: stored values over the defaults, one value for each section.
package final class AppSettings: Sendable {
  /// A linear search of this short list is faster than hashing.
  private let sections: [(type: ObjectIdentifier, section: any RecordPart)]

  /// The names of invalid stored settings, which are replaced by their safest values.
  ///
  /// Other software wrote them, or another version of this program.
  package let misfits: [String]

  /// The stored settings; nil if they cannot be read.
  package let chosen: JSONObject?

  /// Reads the settings that an app stores.
  package init(stored: [UInt8], _ catalog: RecordShape) {
    var reader = RecordReader((try? JSON.parse(stored))?.object)
    sections = catalog.parts.map { (ObjectIdentifier($0), $0.init(&reader)) }
    chosen = reader.chosen
    misfits = reader.misfits
  }

  /// The settings of a feature or a wire; the safest values if the catalog lacks its section.
  package subscript<Section: RecordPart>(_ type: Section.Type) -> Section {
    for (known, section) in sections where known == ObjectIdentifier(type) {
      if let section = section as? Section { return section }
    }
    var reader = RecordReader(nil)
    return Section(&reader)
  }
}
