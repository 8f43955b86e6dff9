package import JSON
package import Records

/// The settings of an app: stored values over the defaults, one value for each section.
package final class AppSettings: Sendable {
  /// A linear search of this short list is faster than hashing.
  private let sections: [(type: ObjectIdentifier, section: any AnyObject & Sendable)]

  /// The names of invalid stored settings, which are replaced by their safest values.
  ///
  /// Other software wrote them, or another version of this program.
  package let misfits: [String]

  /// The parts of users that the settings hide from them.
  package let hiddenParts: [UserPart]

  /// The stored settings; nil if they cannot be read.
  package let chosen: JSONObject?

  /// Reads the settings that an app stores.
  package init(stored: [UInt8], _ catalog: RecordShape) {
    var reader = RecordReader((try? JSON.parse(stored))?.object)
    var hidden: [UserPart] = []
    sections = catalog.parts.map { (ObjectIdentifier($0), Self.section($0, &reader, &hidden)) }
    hiddenParts = hidden
    chosen = reader.chosen
    misfits = reader.misfits
  }

  /// A section as an object, which is found without a copy and a cast of its value.
  private final class Kept<Section: RecordPart>: Sendable {
    let section: Section

    init(_ section: Section) { self.section = section }
  }

  private static func section<Section: RecordPart>(
    _: Section.Type, _ reader: inout RecordReader, _ hidden: inout [UserPart]
  ) -> any AnyObject & Sendable {
    let section = Section(&reader)
    if let hiding = section as? any HidingParts { hidden += hiding.hiddenParts }
    return Kept(section)
  }

  /// The settings of a feature or a wire; the safest values if the catalog lacks its section.
  package subscript<Section: RecordPart>(_ type: Section.Type) -> Section {
    let type = ObjectIdentifier(type)
    for index in sections.indices where sections[index].type == type {
      // The type says what the object is.
      return unsafe unsafeDowncast(sections[index].section, to: Kept<Section>.self).section
    }
    var reader = RecordReader(nil)
    return Section(&reader)
  }
}
