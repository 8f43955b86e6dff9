import JSON
import Records

/// A record as Auth0's API shows and takes it: the columns that have a name there.
///
/// A name with slashes, such as `mobile/ios/team_id`, is that of a member of objects.
enum RecordObject<R: Record> {
  /// Returns the members of a record, by their names in Auth0's API.
  ///
  /// Empty texts are left out, and in objects also empty lists.
  static func members(of record: Stored<R>) -> [(String, JSON)] {
    let values = record.values
    var members = JSONObject()
    for column in R.table.shape.columns {
      guard let path = column.auth0Name?.split(separator: "/"), let value = values[column.name],
        value != "", path.count == 1 || value != []
      else { continue }
      insert(value, at: path[...], into: &members)
    }
    return members.map { ($0.key, $0.value) }
  }

  private static func insert(
    _ value: JSON, at path: ArraySlice<Substring>, into object: inout JSONObject
  ) {
    guard let name = path.first.map(String.init) else { return }
    guard path.count > 1 else { return object[name] = value }
    var inner = object[name]?.object ?? JSONObject()
    insert(value, at: path.dropFirst(), into: &inner)
    object[name] = .object(inner)
  }

  /// Returns the columns that the members of an object store.
  static func columns(in object: String) -> [Column] {
    R.table.shape.columns.filter { $0.auth0Name?.utf8.starts(with: "\(object)/".utf8) == true }
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
