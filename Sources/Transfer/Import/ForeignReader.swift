package import JSON
package import Runtime

/// A reader of the lines that another system exports.
package protocol ForeignReader: Sendable {
  /// Returns the line in Dossier's import format.
  ///
  /// - Throws: `.invalid` if the line has another form.
  func translated(_ text: [UInt8]) throws(Failure) -> TranslatedLine
}

/// A line of another system in Dossier's import format.
package struct TranslatedLine: Sendable {
  package let row: JSON
  /// Roles of the user, which rows have no member for.
  package let roles: [RoleID]
  /// The parts of the line that are not in the row, with the reasons.
  package let leftOut: [FieldError]

  package init(_ row: JSONObject, roles: [RoleID] = [], leftOut: [FieldError] = []) {
    (self.row, self.roles, self.leftOut) = (.object(row), roles, leftOut)
  }
}

extension ForeignReader {
  /// Parses a line.
  ///
  /// - Throws: `.invalid`.
  package static func parse(_ text: [UInt8]) throws(Failure) -> JSON {
    do throws(JSONError) {
      return try JSON.parse(text)
    } catch {
      throw .invalid([FieldError(error)])
    }
  }
}
