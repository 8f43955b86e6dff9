import JSON
import Records

/// A record as Auth0's API shows and takes it: the columns that have a name there.
enum RecordObject<R: Record> {
  /// Returns the members of a record, by their names in Auth0's API; empty texts are left out.
  static func members(of record: Stored<R>) -> [(String, JSON)] {
    let values = record.values
    return R.table.shape.columns.compactMap { column in
      guard let name = column.auth0Name, let value = values[column.name], value != "" else {
        return nil
      }
      return (name, value)
    }
  }

  /// Returns the column that a member of a body stores; nil if none does.
  static func column(of member: String) -> Column? {
    R.table.shape.columns.first { $0.auth0Name.map { $0.utf8.elementsEqual(member.utf8) } == true }
  }

  /// Returns the place of a column as one of the member that it stores.
  static func renamed(_ place: String) -> String {
    for column in R.table.shape.columns
    where place.hasPrefix("/\(column.name)/") || place == "/\(column.name)" {
      if let name = column.auth0Name {
        return "/\(name)\(place.dropFirst(column.name.utf8.count + 1))"
      }
    }
    return place
  }
}
