package import JSON
package import Postgres
import Runtime

/// A profile as JSON text.
package struct ProfileText: RowDecodable {
  package let json: [UInt8]
  package let version: Int

  package init(from row: Row) throws(DatabaseError) {
    json = try row.bytes(0)
    version = try row.int(1)
  }
}

extension Profile {
  /// Returns the profile as JSON; `picturePath` returns the path of a picture.
  package func json(picturePath: (String) -> String) -> JSON {
    func text(_ value: String?) -> JSON { value.map(JSON.string) ?? .null }
    return [
      "id": .string(id.text), "created_at": .string(createdAt.text),
      "updated_at": .string(updatedAt.text), "version": .number(JSONNumber(version)),
      "anonymous": .bool(isAnonymous), "blocked": .bool(isBlocked), "email": text(email),
      "email_verified": .bool(isEmailVerified), "name": text(name),
      "given_name": text(givenName), "family_name": text(familyName),
      "nickname": text(nickname), "phone": text(phone), "locale": text(locale),
      "zone": text(zone), "picture": text(picture.map(picturePath)),
    ]
  }
}
