import Documents
import JSON
@testable import Runtime
@testable import Transfer

extension FuzzTarget {
  /// The lines of an export of App Services; those that begin with `#` are documents.
  static let appServices = FuzzTarget(
    "app-services",
    isJSON: true,
    words: [
      "_id", "$oid", "0123456789abcdef01234567", "identities", "provider_type", "provider_data",
      "local-userpass", "custom-token", "oauth2-google", "oauth2-apple", "anon-user", "email",
      "ada@example.com", "id", "data", "name", "first_name", "last_name", "disabled",
      "creation_date", "$numberLong", "$numberInt", "253402300800", "-1", "1e400", "owner",
    ],
    bound: MemoryBound(factor: 200, base: 1_048_576)
  ) { input in
    for line in lines(input).prefix(8) {
      let isDocument = line.first == UInt8(ascii: "#")
      let reader: AppServicesRow =
        isDocument
        ? .document(userField: "owner")
        : .user(issuer: "https://a.example", areEmailsVerified: true)
      refuses { () throws(Failure) in
        let row = try reader.translated(isDocument ? Array(line.dropFirst()) : line).row
        expectStorable(row, "a row of App Services")
        expect(row["id"]?.string.flatMap { UserID($0) } != nil, "a row has no id")
        _ = try ImportedUser(row, stringLimit: 128, mixesScripts: false, schemas: DocumentSchemas())
      }
    }
  }
}
