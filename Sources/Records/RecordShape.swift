import Encoding
package import JSON

/// The columns of a record, or of all sections of an app's settings, in display order.
package struct RecordShape: Sendable {
  package let parts: [any RecordPart.Type]
  package let columns: [Column]

  package init(_ parts: [any RecordPart.Type]) {
    self.parts = parts
    var reader = RecordReader(JSONObject(), isListing: true)
    for part in parts { _ = part.init(&reader) }
    columns = reader.columns
  }

  package func column(named name: String) -> Column? {
    columns.first { $0.name.utf8.elementsEqual(name.utf8) }
  }

  /// Returns every column with its effective value, and the names of those that a record has chosen.
  ///
  /// Both are in display order. Secrets are missing.
  package func listed(_ stored: JSONObject?) -> (values: JSONObject, chosen: [String]) {
    var reader = RecordReader(stored, isListing: true)
    for part in parts { _ = part.init(&reader) }
    return (reader.json, reader.chosenNames)
  }

  /// Returns the change by a merge patch.
  ///
  /// A patch may change a part of a value, so the result is checked. Other values are not checked,
  /// since an earlier version may have allowed them.
  /// - Parameters:
  ///   - stored: the chosen values before; nil for a new record.
  ///   - patch: a merge patch; null resets a column to its default.
  ///   - whole: the columns that the patch replaces instead of merging.
  ///   - place: the JSON Pointer to the patch.
  /// - Returns: the change, with its faults.
  package func change(
    of stored: JSONObject?, by patch: JSONObject, replacing whole: Set<String> = [],
    at place: String = ""
  ) -> RecordChange {
    var base = stored ?? JSONObject()
    for name in whole where patch[name] != nil { base[name] = nil }
    var after = base.merging(patch)
    var faults: [ColumnFault] = []
    for (name, _) in patch {
      let place = "\(place)/\(JSONPointer.escaped(name))"
      guard let column = column(named: name) else {
        faults.append(ColumnFault(place, "unknown_member", "This name is unknown."))
        continue
      }
      if stored != nil, column.has(.immutable), after[name] != stored?[name] {
        faults.append(ColumnFault(place, "immutable", "This member cannot change."))
      } else if let value = after[name], value != .null {
        let found = column.rule.faults(in: value, at: place)
        faults += found
        if found.isEmpty { after[name] = column.rule.canonical(value) }
      } else if column.has(.required) {
        faults.append(ColumnFault(place, "missing", "This member is required."))
      }
    }
    if stored == nil {
      for column in columns where column.has(.required) && patch[column.name] == nil {
        faults.append(
          ColumnFault("\(place)/\(column.name)", "missing", "This member is required."))
      }
    }
    return RecordChange(
      shape: self, before: stored ?? JSONObject(), patch: patch, after: after, faults: faults)
  }
}

/// The chosen values of a record before and after a patch.
package struct RecordChange: Sendable {
  private let shape: RecordShape
  package let before: JSONObject
  package let patch: JSONObject
  package let after: JSONObject
  /// The values of the patch that break a rule.
  package let faults: [ColumnFault]

  fileprivate init(
    shape: RecordShape, before: JSONObject, patch: JSONObject, after: JSONObject,
    faults: [ColumnFault]
  ) {
    (self.shape, self.before, self.patch, self.after) = (shape, before, patch, after)
    self.faults = faults
  }

  /// The names of the columns whose values differ.
  package var differences: [String] {
    let (old, new) = (shape.listed(before).values, shape.listed(after).values)
    return shape.columns.filter { column in
      column.has(.secret) ? patch[column.name] != nil : old[column.name] != new[column.name]
    }.map(\.name)
  }

  /// The members of the patch, as an audit event shows them.
  package var audited: JSONObject { Self.shown(patch, but: secrets) }

  /// The values before of the members of the patch, as an audit event shows them.
  package var auditedBefore: JSONObject {
    Self.shown(
      JSONObject(patch.compactMap { name, _ in before[name].map { (name, $0) } }), but: secrets)
  }

  private var secrets: [String] { shape.columns.filter { $0.has(.secret) }.map(\.name) }

  /// The longest value in an audit event; for longer ones, such as email texts, it has only the
  /// name.
  private static let longest = 200

  /// Returns values as an audit event shows them: of secrets and long values, only the name.
  package static func shown(_ values: JSONObject, but secrets: [String] = []) -> JSONObject {
    JSONObject(
      values.map { name, value in
        (name, secrets.contains(name) || value.serialized().count > longest ? "…" : value)
      })
  }
}
